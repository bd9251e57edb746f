package relocgen

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

const verifyHelp = `Executes originals and copies side by side in an oracle: every plan that the flags
allow, in several slots, from random and edge states, stopped at every point.
Bytes are given as HEX (one instruction after another), or taken from the known
functions of --file.

Examples:
  relocgen verify --arch amd64 488b0534120000 e2fe
  relocgen verify --file /bin/ls --sites 2000 --seed 7
  relocgen verify --arch 386 --form step e800000000

The seed is printed: the same seed gives the same run. Exit code 4: a copy does
not do what its original does, which is a bug of ours.`

// VerifyVerb is the verb verify of builds that have an oracle.
func VerifyVerb(o emu.Oracle) Verb {
	return func(s *Streams) *cli.Command {
		num := func(name, usage string, v int) cli.Flag {
			return &cli.IntFlag{Name: name, Usage: usage, Value: v}
		}
		return &cli.Command{
			Name: "verify", Usage: "execute originals and copies side by side",
			ArgsUsage: "[HEX...]", Description: verifyHelp,
			Flags: slices.Concat([]cli.Flag{
				archFlag(),
				&cli.StringFlag{Name: "file", Usage: "take instructions from this object `FILE`"},
				num("sites", "how many instructions of --file, spread over it", 1000),
				num("states", "states from which each plan runs", 16),
				num("interrupt", "in how many of them it is also stopped everywhere", 2),
				&cli.StringFlag{Name: "seed", Usage: "number from which everything random follows", Value: "1"},
			}, envFlags()),
			Action: func(_ context.Context, c *cli.Command) error { return verify(s, c, o) },
		}
	}
}

// trial is one run of verify.
type trial struct {
	arch   reloc.Arch
	worker *emu.Worker
	envs   []reloc.Env
	opt    emu.Options
	tally  emu.Tally
}

func verify(s *Streams, c *cli.Command, o emu.Oracle) error {
	w, err := parseEnv(c)
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(c.String("seed"), 0, 64)
	if err != nil {
		return usagef("--seed: %q is not a number", c.String("seed"))
	}
	t := &trial{envs: w.variants(), opt: emu.Options{States: c.Int("states"), Interrupt: c.Int("interrupt")}}
	if t.opt.States < 1 || t.opt.States > 4096 || t.opt.Interrupt < 0 || t.opt.Interrupt > t.opt.States {
		return usagef("--states is 1 to 4096, --interrupt at most that")
	}
	next, err := t.source(c)
	if err != nil {
		return err
	}
	if err := parseDead(c, &w.env.Dead, t.arch.Info().Regs); err != nil {
		return err
	}
	if t.worker, err = emu.NewWorker(o, t.arch.Info(), seed); err != nil {
		return fmt.Errorf("%s: %w", o.Name(), err)
	}
	defer t.worker.Close()
	if err := t.judge(next); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "oracle %s, %s, seed %d\n", o.Name(), t.arch.Info().Name, seed)
	t.tally.WriteTo(s.Out)
	if t.tally.Mismatches() > 0 {
		return &failure{exitDisagree, fmt.Errorf("%d plans do not do what their originals do", t.tally.Mismatches())}
	}
	return nil
}

// variants are near and far, or what was asked for.
func (w *wishes) variants() []reloc.Env {
	if !w.both {
		return []reloc.Env{w.env}
	}
	near, far := w.env, w.env
	near.Slots, far.Slots = reloc.SlotsNear, reloc.SlotsFar
	return []reloc.Env{near, far}
}

// source returns a function that yields one instruction's bytes after another,
// nil at the end.
func (t *trial) source(c *cli.Command) (func() []byte, error) {
	if c.String("file") == "" {
		code, err := parseHex(c.Args().Slice())
		if err != nil {
			return nil, err
		}
		if t.arch, err = archOf(c); err != nil {
			return nil, err
		}
		return t.each(code)
	}
	if c.Args().Present() {
		return nil, usagef("--file and HEX exclude each other")
	}
	return t.fromFile(c.String("file"), c.Int("sites"))
}

// each splits code into instructions.
func (t *trial) each(code []byte) (func() []byte, error) {
	var list [][]byte
	for at := 0; at < len(code); {
		var in reloc.Insn
		if err := t.arch.Decode(&in, code[at:], 0); err != nil {
			return nil, &failure{exitFinding, fmt.Errorf("% x: %w", code[at:], err)}
		}
		list = append(list, code[at:at+int(in.Len)])
		at += int(in.Len)
	}
	return listed(list), nil
}

func listed(list [][]byte) func() []byte {
	return func() []byte {
		if len(list) == 0 {
			return nil
		}
		first := list[0]
		list = list[1:]
		return first
	}
}

// fromFile takes n instructions of a file, evenly spread.
func (t *trial) fromFile(name string, n int) (func() []byte, error) {
	file, err := objfile.Open(name)
	if err != nil {
		return nil, inputErr(err)
	}
	defer file.Close()
	a, ok := arch.ByName(file.Arch)
	if !ok {
		return nil, inputErr(fmt.Errorf("%s: no port for %s", name, file.Arch))
	}
	t.arch = a
	funcs, err := file.Funcs()
	if err != nil {
		return nil, inputErr(err)
	}
	var total uint64
	for _, fn := range funcs {
		total += fn.Size
	}
	step := max(total/uint64(max(n, 1)), 1)
	var list [][]byte
	var at, next uint64
	for _, fn := range funcs {
		for in, err := range file.Insns(fn, a) {
			if err != nil {
				break // data in text: the sweep of this function ends
			}
			if at >= next {
				list = append(list, slices.Clone(in.Raw()))
				next += step
			}
			at += uint64(in.Len)
		}
	}
	return listed(list), nil
}

func (t *trial) judge(next func() []byte) error {
	for n := 0; ; n++ {
		code := next()
		if code == nil {
			return nil
		}
		if err := t.worker.UseArena(n % t.worker.Arenas()); err != nil {
			return err
		}
		if _, err := t.worker.JudgeCode(&t.tally, t.arch, code, t.envs, t.opt); err != nil {
			return fmt.Errorf("% x: %w", code, err)
		}
	}
}
