package relocgen

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/xol-go/xol/corpus"
)

const corpusHelp = `Prints the cases that every port and oracle is held against. Arguments are words
that the name, the source, a note or an expectation must contain, each of them;
without any, all cases are printed.

Examples:
  relocgen corpus call-self
  relocgen corpus --arch amd64 --list vex
  relocgen corpus --arch 386

Exit code 1: no case matches.`

func corpusVerb(s *Streams) *cli.Command {
	return &cli.Command{
		Name: "corpus", Usage: "print the cases and what is right for them",
		ArgsUsage: "[WORD...]", Description: corpusHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "arch", Usage: "cases of this instruction set, in GOARCH spelling"},
			&cli.BoolFlag{Name: "list", Usage: "names only"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, atomically (- is stdout)"},
		},
		Action: func(_ context.Context, c *cli.Command) error { return corpusAction(s, c) },
	}
}

func corpusAction(s *Streams, c *cli.Command) error {
	match := corpus.Match(c.Args().Slice()...)
	var file corpus.File
	for cs := range corpus.All() {
		if match(cs) && (!c.IsSet("arch") || cs.Arch == c.String("arch")) {
			file.Cases = append(file.Cases, *cs)
		}
	}
	if len(file.Cases) == 0 {
		return &failure{exitFinding, fmt.Errorf("no case matches")}
	}
	out, err := openSink(c, s.Out)
	if err != nil {
		return err
	}
	if c.Bool("list") {
		for _, cs := range file.Cases {
			fmt.Fprintln(out, cs.Key())
		}
	} else {
		out.Write(corpus.Format(&file))
	}
	return outcome(nil, out.commit(true))
}
