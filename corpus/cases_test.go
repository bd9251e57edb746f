package corpus_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest"
)

// TestCasesAgainstPorts holds every port against its cases. An expectation that
// is not met has to be in pending.txt, and one that is met must not.
func TestCasesAgainstPorts(t *testing.T) {
	pending := map[[2]string]bool{}
	for _, p := range corpus.PendingList() {
		pending[[2]string{p.Key, p.What}] = true
	}
	met, waiting := 0, 0
	for c := range corpus.All() {
		a, ok := arch.ByName(c.Arch)
		if !ok {
			continue // the cases wait for their port
		}
		for _, r := range checkCase(a, c) {
			switch listed := pending[[2]string{c.Key(), r.what}]; {
			case r.err != nil && !listed:
				t.Errorf("%s\t%s\t%v", c.Key(), r.what, r.err)
			case r.err == nil && listed:
				t.Errorf("%s: %q is met: take it out of pending.txt", c.Key(), r.what)
			case listed:
				waiting++
			default:
				met++
			}
		}
	}
	t.Logf("%d expectations met, %d pending", met, waiting)
}

// result is whether one expectation is met.
type result struct {
	what string // as in pending.txt
	err  error
}

func checkCase(a reloc.Arch, c *corpus.Case) []result {
	list := []result{{"lens", checkLens(a, c)}}
	for i := range c.Insns {
		list = append(list, result{"insn    " + c.Insns[i].String(), checkInsn(a, c, &c.Insns[i])})
	}
	for i := range c.Wants {
		list = append(list, result{"want    " + c.Wants[i].String(), checkWant(a, c, &c.Wants[i])})
	}
	for i := range list {
		word, text, _ := strings.Cut(list[i].what, " ")
		list[i].what = strings.TrimSpace(word + " " + strings.TrimLeft(text, " "))
	}
	return list
}

func checkLens(a reloc.Arch, c *corpus.Case) error {
	off := 0
	for _, n := range c.Lens {
		var in reloc.Insn
		if err := a.Decode(&in, c.Bytes[off:], c.PC+uint64(off)); err != nil || int(in.Len) != n {
			return fmt.Errorf("at +%d: %d bytes (%v), want %d", off, in.Len, err, n)
		}
		off += n
	}
	return nil
}

func checkInsn(a reloc.Arch, c *corpus.Case, want *corpus.Insn) error {
	var in reloc.Insn
	err := a.Decode(&in, c.Bytes[want.Off:], c.PC+uint64(want.Off))
	if want.Reason != fixups.ReasonNone {
		if err != want.Reason {
			return fmt.Errorf("decoded as %v (%v)", in.Class, err)
		}
		return nil
	}
	var bad []error
	add := func(format string, args ...any) { bad = append(bad, fmt.Errorf(format, args...)) }
	switch {
	case err != nil:
		return err
	case in.Class != want.Class:
		add("class %v", in.Class)
	case want.Alt != 0 && int(in.AltLen) != want.Alt:
		add("AltLen %d", in.AltLen)
	}
	for _, p := range []*uint64{want.Target, want.Address} {
		if p != nil && (!in.HasTarget() || in.Target != *p) {
			add("target %#x (%t)", in.Target, in.HasTarget())
		}
	}
	if want.Address != nil && in.Flags&reloc.PCOperand == 0 {
		add("no pc-relative operand")
	}
	if next := in.Next() << (64 - a.Info().Bits) >> (64 - a.Info().Bits); want.Pushes != nil && next != *want.Pushes {
		add("return address %#x", next)
	}
	for h := range (want.Hazards &^ in.Hazards).All() {
		add("no hazard %v", h)
	}
	return errors.Join(bad...)
}

// code is the case as context: its own bytes and its memory.
type code struct{ c *corpus.Case }

func (x code) Bytes(addr uint64) []byte {
	if d := addr - x.c.PC; d < uint64(len(x.c.Bytes)) {
		return x.c.Bytes[d:]
	}
	for _, m := range x.c.Mem {
		if d := addr - m.Addr; d < uint64(len(m.Data)) {
			return m.Data[d:]
		}
	}
	return nil
}

// plan asks for what a want asks for.
func plan(p *reloc.Plan, a reloc.Arch, c *corpus.Case, w *corpus.Want) error {
	env, err := reloctest.ParseEnv(slices.Concat(c.Env, w.With), a.Info())
	if err != nil {
		return err
	}
	env.Code, env.Forms = code{c}, w.Form.Bit()
	return reloc.Relocate(p, a, c.Bytes[w.Off:], c.PC+uint64(w.Off), &env)
}

func checkWant(a reloc.Arch, c *corpus.Case, w *corpus.Want) error {
	var p reloc.Plan
	err := plan(&p, a, c, w)
	var reason fixups.Reason
	if err != nil && !errors.As(err, &reason) {
		return err
	}
	switch {
	case w.Plan && err != nil:
		return fmt.Errorf("refused: %w", err)
	case !w.Plan && err == nil:
		return fmt.Errorf("a plan (%v)", p.Strategy)
	case !w.Plan && !w.Any && reason != w.Reason:
		return fmt.Errorf("refused: %w", err)
	case w.Plan && p.Form != w.Form:
		return fmt.Errorf("a %v plan", p.Form)
	}
	if !w.Plan || len(p.Code) == 0 {
		return nil
	}
	for _, s := range c.Slots {
		site := c.PC + uint64(w.Off)
		if !p.Holds(int64(s - site)) {
			continue // a near plan for a case whose slot is far
		}
		at := fixups.Bases{Site: site, Slot: s, Data: 0x7000}
		if _, err := fixups.PlaceOrder(nil, &p, at, a.Info().Order(reloc.DataDefault)); err != nil {
			return fmt.Errorf("slot %#x: %w", s, err)
		}
	}
	return nil
}

// Env words of the cases are known to every reader of them.
func TestEnvWords(t *testing.T) {
	for c := range corpus.All() {
		a, ok := arch.ByName(c.Arch)
		if !ok {
			continue
		}
		for i := range c.Wants {
			if _, err := reloctest.ParseEnv(slices.Concat(c.Env, c.Wants[i].With), a.Info()); err != nil {
				t.Errorf("%s: %v", c.Key(), err)
			}
		}
	}
	for _, w := range []string{"spill=1", "slots", "slots=up", "slots=1:x", "dead=zz", "vendor=zz", "zz"} {
		if _, err := reloctest.ParseEnv([]string{w}, &reloc.Info{}); err == nil {
			t.Errorf("env word %q is accepted", w)
		}
	}
}
