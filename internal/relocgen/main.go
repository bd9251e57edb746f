// Package relocgen is the command of that name: its verbs, one file each, thin
// over the library. cmd/relocgen and the emulator's module build it with
// different judges.
package relocgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/xol-go/xol/emu/native"
)

// Exit codes, documented in docs/cli.md.
const (
	exitDone     = 0
	exitFinding  = 1 // a site without a plan, tables that differ
	exitUsage    = 2
	exitInput    = 3 // unreadable or hostile input
	exitDisagree = 4 // an oracle disagrees: a bug of ours

	exitInterrupted = 130 // as shells report it
)

// Streams are where a run reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Verb is a verb that a build adds to the common ones.
type Verb func(*Streams) *cli.Command

// failure carries an exit code with an error; err may be nil for a finding that
// the output has already shown.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func usagef(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

func inputErr(err error) error { return &failure{exitInput, err} }

var errFinding = &failure{code: exitFinding}

// Main runs one command line (args[0] is the program's name) and returns the
// exit code. Without a verb of the build's own, verify executes on the processor.
func Main(args []string, s *Streams, extra ...Verb) int {
	root := command(s, extra)
	err := root.Run(context.Background(), args)
	if err == nil {
		return exitDone
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{exitUsage, err}
	}
	if f.err != nil {
		fmt.Fprintln(s.Err, "relocgen:", oneLine(f.err.Error()))
	}
	return f.code
}

// oneLine keeps hostile input (names in object files) from forging lines or
// driving the terminal: what does not print, control and direction marks among
// it, becomes a question mark.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// version is that of the module the command was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

const rootHelp = `relocgen says how instructions can be executed somewhere else with exactly the
same effect, and writes the fixup tables that probe tools apply.

A site is an instruction in a program, a slot is where its copy lives. There are
three forms in which a copy is executed, each with a plan or a reason why not:
  emulate  no copy: a short program does what the instruction does
  jump     the copy is jumped to, runs by itself and jumps back
  step     the copy is stepped over, between two short programs
Code for jump and step depends on where slots can be: near are those that a
direct branch reaches from the site, far is anywhere.

Examples:
  relocgen explain --arch amd64 --pc 0x401000 48 8b 05 34 12 00 00
  relocgen table /bin/ls
  relocgen isa --arch amd64 vpaddd

The verb verify executes originals and copies on this processor (Linux, x86-64),
those of arm64, ppc64 and ppc64le under qemu-user; the build of this command in
emu/unicorn/cmd/relocgen does it in an emulator.

Exit codes: 0 done, 1 finding (a site without a plan, nothing that matches),
2 usage, 3 unreadable or hostile input, 4 an oracle disagrees.`

func command(s *Streams, extra []Verb) *cli.Command {
	root := &cli.Command{
		Name:        "relocgen",
		Version:     version(),
		Usage:       "move an instruction, keep its meaning",
		Description: rootHelp,
		Commands: []*cli.Command{
			explainVerb(s), tableVerb(s), isaVerb(s), corpusVerb(s),
		},
		HideHelpCommand:           true, // helpVerb is ours
		EnableShellCompletion:     true,
		DisableSliceFlagSeparator: true, // names of Go functions hold commas
		Reader:                    s.In, Writer: s.Out, ErrWriter: s.Err,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		OnUsageError:   usageError,
		Action:         rootAction,
	}
	if len(extra) == 0 {
		extra = []Verb{VerifyVerb(native.New())}
	}
	for _, v := range extra {
		root.Commands = append(root.Commands, v(s))
	}
	root.Commands = append(root.Commands, helpVerb(root))
	for _, c := range root.Commands {
		c.OnUsageError = usageError
		c.DisableSliceFlagSeparator = true
	}
	return root
}

func usageError(_ context.Context, c *cli.Command, err error, _ bool) error {
	verb := ""
	if c.Name != "relocgen" {
		verb = c.Name + " "
	}
	return usagef("%v (relocgen %s--help shows the flags)", err, verb)
}

// helpVerb is help as a verb. That of the package cli prints usage errors of its
// own and guesses at what was meant.
func helpVerb(root *cli.Command) *cli.Command {
	return &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "show what a verb does, or this list",
		ArgsUsage: "[VERB]", HideHelp: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			name := c.Args().First()
			switch {
			case name == "":
				return cli.ShowRootCommandHelp(root)
			case c.Args().Len() > 1 || root.Command(name) == nil:
				return usagef("help: no verb %q (relocgen --help lists them)", shorten(strings.Join(c.Args().Slice(), " ")))
			}
			return cli.ShowCommandHelp(ctx, root, name)
		},
	}
}

func rootAction(_ context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return usagef("no verb %q (relocgen --help lists them)", shorten(c.Args().First()))
	}
	return cli.ShowRootCommandHelp(c)
}

// Stdio are the process's own streams.
func Stdio() *Streams { return &Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }
