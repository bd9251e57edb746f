package relocgen

import (
	"context"
	"fmt"
	"iter"
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

// trial is what one run of verify judges.
type trial struct {
	arch reloc.Arch
	code iter.Seq[[]byte] // one instruction after another
	opt  emu.Options
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
	t := &trial{opt: emu.Options{States: c.Int("states"), Interrupt: c.Int("interrupt")}}
	if t.opt.States < 1 || t.opt.States > 4096 || t.opt.Interrupt < 0 || t.opt.Interrupt > t.opt.States {
		return usagef("--states is 1 to 4096, --interrupt at most that")
	}
	if err := t.source(c); err != nil {
		return err
	}
	if err := w.fit(c, t.arch); err != nil {
		return err
	}
	tally, err := emu.Verify(o, t.arch, t.code, w.variants(), t.opt, seed)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Name(), err)
	}
	fmt.Fprintf(s.Out, "oracle %s, %s, seed %d\n", o.Name(), t.arch.Info().Name, seed)
	_, err = tally.WriteTo(s.Out)
	for _, d := range tally.Diffs {
		_, werr := fmt.Fprintf(s.Out, "mismatch %v", d)
		err = firstErr(err, werr)
	}
	if err != nil {
		return inputErr(err)
	}
	if n := tally.Mismatches(); n > 0 {
		return &failure{exitDisagree, fmt.Errorf("%d plans do not do what their originals do", n)}
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

// source finds the instructions. Those of a file take turns at the places that
// sites have, given ones stand at each.
func (t *trial) source(c *cli.Command) error {
	if c.String("file") == "" {
		code, err := parseHex(c.Args().Slice())
		if err != nil {
			return err
		}
		if t.arch, err = archOf(c); err != nil {
			return err
		}
		t.opt.Everywhere = true
		return t.each(code)
	}
	if c.Args().Present() {
		return usagef("--file and HEX exclude each other")
	}
	if n := c.Int("sites"); n < 1 {
		return usagef("--sites: %d is not a number of instructions", n)
	}
	if err := t.fromFile(c.String("file"), c.Int("sites")); err != nil {
		return err
	}
	if name := c.String("arch"); name != "" && name != t.arch.Info().Name {
		return usagef("--arch: %s is not %s but %s", c.String("file"), name, t.arch.Info().Name)
	}
	return nil
}

// each splits code into instructions.
func (t *trial) each(code []byte) error {
	var list [][]byte
	for at := 0; at < len(code); {
		var in reloc.Insn
		if err := t.arch.Decode(&in, code[at:], 0); err != nil {
			return &failure{exitFinding, fmt.Errorf("% x: %w", code[at:], err)}
		}
		list = append(list, code[at:at+int(in.Len)])
		at += int(in.Len)
	}
	t.code = slices.Values(list)
	return nil
}

// fromFile takes n instructions of a file, evenly spread.
func (t *trial) fromFile(name string, n int) error {
	file, err := objfile.Open(name)
	if err != nil {
		return inputErr(err)
	}
	defer file.Close()
	a, ok := arch.ByName(file.Arch)
	if !ok {
		return inputErr(fmt.Errorf("%s: no port for %s", name, file.Arch))
	}
	t.arch = a
	funcs, err := file.Funcs()
	if err != nil {
		return inputErr(err)
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
				continue // data in text
			}
			if at >= next && len(list) < n {
				list = append(list, slices.Clone(in.Raw()))
				next += step
			}
			at += uint64(in.Len)
		}
	}
	t.code = slices.Values(list)
	return nil
}
