package relocgen

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

const explainHelp = `Decodes the bytes as one instruction after another, from --pc on, and says of each
what it is, what a consumer must know about it (hazards: docs/hazards.md), and how
it can be executed elsewhere: a plan for each form, or the reason why there is
none (docs/format.md has the words). Code is a template whose relocs are zero,
unless --slot says where it will be; where no plan for near slots in general fits
that one, a plan for its very distance is shown.

All HEX arguments are joined; 0x, commas and colons between bytes are ignored.

Examples:
  relocgen explain --arch amd64 --pc 0x401000 48 8b 05 34 12 00 00
  relocgen explain --arch amd64 --slots far --spill f0480fb10d00100000
  relocgen explain --arch 386 --pc 0x8049000 --slot 0x9000000 --json e800000000

Exit code 1: a site has no plan in any form that was asked for.`

func explainVerb(s *Streams) *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "decode bytes and show the plans for each form",
		ArgsUsage: "HEX...", Description: explainHelp,
		Flags: append(append([]cli.Flag{
			archFlag(),
			&cli.StringFlag{Name: "pc", Usage: "address of the first byte", Value: "0x1000"},
			&cli.StringFlag{Name: "slot", Usage: "show the code as placed in a slot at `ADDR`"},
			&cli.StringSliceFlag{Name: "context", Usage: "`ADDR=HEX`: bytes elsewhere, such as a called function (repeatable)"},
		}, envFlags()...), outputFlags()...),
		Action: func(_ context.Context, c *cli.Command) error { return explain(s, c) },
	}
}

func archFlag() cli.Flag {
	return &cli.StringFlag{Name: "arch", Usage: "instruction set: " + strings.Join(archNames(), ", ")}
}

func archNames() []string {
	var names []string
	for a := range arch.All() {
		names = append(names, a.Info().Name)
	}
	return names
}

// archOf resolves --arch.
func archOf(c *cli.Command) (reloc.Arch, error) {
	name := c.String("arch")
	if name == "" {
		return nil, usagef("--arch is required: one of %s", strings.Join(archNames(), ", "))
	}
	a, ok := arch.ByName(name)
	if !ok {
		return nil, usagef("--arch: %q is not one of %s", name, strings.Join(archNames(), ", "))
	}
	return a, nil
}

// texts is reloc.Code over several runs of bytes.
type texts []reloc.Text

func (t texts) Bytes(addr uint64) []byte {
	for i := range t {
		if b := t[i].Bytes(addr); b != nil {
			return b
		}
	}
	return nil
}

func parseContext(c *cli.Command, bits int) (texts, error) {
	var t texts
	for _, arg := range c.StringSlice("context") {
		addr, hexBytes, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, usagef("--context: %q is not ADDR=HEX", arg)
		}
		a, err := parseAddr("--context", addr, bits)
		if err != nil {
			return nil, err
		}
		b, err := parseHex([]string{hexBytes})
		if err != nil {
			return nil, usagef("--context: %v", err)
		}
		t = append(t, reloc.Text{Addr: a, Data: b})
	}
	return t, nil
}

// question is what explain was asked.
type question struct {
	arch reloc.Arch
	pc   uint64
	code []byte
	w    *wishes
	slot *uint64

	// partial: the only context are the bytes of the question themselves. They
	// can forbid a plan, but what is around them is not known.
	partial bool
}

func parseExplain(c *cli.Command) (*question, error) {
	a, err := archOf(c)
	if err != nil {
		return nil, err
	}
	q := &question{arch: a}
	bits := a.Info().Bits
	if q.pc, err = parseAddr("--pc", c.String("pc"), bits); err != nil {
		return nil, err
	}
	if q.slot, err = parseSlot(c, bits); err != nil {
		return nil, err
	}
	if q.code, err = parseHex(c.Args().Slice()); err != nil {
		return nil, err
	}
	if q.w, err = parseEnv(c); err != nil {
		return nil, err
	}
	if err := q.w.fit(c, a); err != nil {
		return nil, err
	}
	ctx, err := parseContext(c, bits)
	if err != nil {
		return nil, err
	}
	if q.partial = ctx == nil && a.Info().NeedsContext; q.partial || ctx != nil {
		q.w.env.Code = append(texts{{Addr: q.pc, Data: q.code}}, ctx...)
	}
	return q, nil
}

func parseSlot(c *cli.Command, bits int) (*uint64, error) {
	if !c.IsSet("slot") {
		return nil, nil
	}
	v, err := parseAddr("--slot", c.String("slot"), bits)
	return &v, err
}

func explain(s *Streams, c *cli.Command) error {
	q, err := parseExplain(c)
	if err != nil {
		return err
	}
	f, err := parseFormat(c)
	if err != nil {
		return err
	}
	t := &fixups.Table{Arch: q.arch.Info().Name, Layout: layoutOf(q.arch)}
	rest := q.run(t)
	if c.IsSet("dead") && len(t.Entries) > 1 {
		return usagef("--dead needs a single instruction: registers are dead at single sites")
	}
	out, err := openSink(c, s.Out)
	if err != nil {
		return err
	}
	_, err = out.Write(q.render(t, f, !colourless(c, s)))
	if err = outcome(err, out.commit(err == nil)); err != nil {
		return err
	}
	if len(rest) > 0 {
		logf(s, "%d bytes behind %#x are not decoded: %s", len(rest), t.Entries[len(t.Entries)-1].PC, hex.EncodeToString(rest))
	}
	if anyWithoutPlan(t) {
		return errFinding
	}
	return nil
}

// run appends an entry for each instruction and returns the bytes behind the
// first that does not decode, where it is not known where it ends.
func (q *question) run(t *fixups.Table) (rest []byte) {
	mask := ^uint64(0) >> (64 - uint(q.arch.Info().Bits))
	for at := 0; at < len(q.code); {
		t.Entries = append(t.Entries, fixups.Entry{})
		e := &t.Entries[len(t.Entries)-1]
		pc := (q.pc + uint64(at)) & mask
		err := reloc.Describe(e, q.arch, q.code[at:], pc, &q.w.env, q.w.both)
		if e.Class == fixups.ClassInvalid && err != nil {
			if e.Reason == fixups.ReasonTruncated {
				e.Bytes = append(e.Bytes[:0], q.code[at:]...)
				return nil
			}
			if !q.arch.Info().Resync {
				return q.code[at+len(e.Bytes):]
			}
			at += len(e.Bytes)
			continue
		}
		if q.partial {
			e.Hazards |= fixups.HazardContextUnknown.Bit()
		}
		e.Text = disassemble(t.Arch, e)
		place(e, q.arch, q.slot)
		q.placeExact(e, q.code[at:])
		at += int(e.Len)
	}
	return nil
}

// render writes the entries, in blocks if it is for people.
func (q *question) render(t *fixups.Table, f format, colour bool) []byte {
	enc := newEncoder(f, q.arch, t, colour)
	if text, ok := enc.(*textEncoder); ok {
		text.blocks = true
	}
	dst := enc.begin(nil)
	for i := range t.Entries {
		n := len(dst)
		dst = enc.site(dst, &t.Entries[i])
		if i == 0 {
			dst = append(dst[:n], enc.first(dst[n:])...)
		}
	}
	return enc.end(dst, t.Gaps)
}

// place fills in the code of each plan for a given slot. A plan that cannot
// reach it is refused as no-reach, one that would lie on its own site as overlap.
func place(e *fixups.Entry, a reloc.Arch, slot *uint64) {
	if slot == nil {
		return
	}
	for i := range e.Forms {
		v := &e.Forms[i]
		p := &v.Plan
		if v.Reason != fixups.ReasonNone || len(p.Code) == 0 {
			continue
		}
		code, err := fixups.PlaceOrder(nil, p, fixups.Bases{Site: e.PC, Slot: *slot}, a.Info().Order(reloc.DataDefault))
		switch {
		case err != nil:
			v.Reason = fixups.ReasonNoReach
		case *slot-e.PC < uint64(e.Len) || e.PC-*slot < uint64(len(code)):
			v.Reason = fixups.ReasonOverlap
		default:
			copy(p.Code, code)
		}
	}
}

// placeExact asks again for what has no plan that serves the slot as one of many
// near ones: at just its distance from the site there may be one, as where a
// field counts in larger units, or backwards.
func (q *question) placeExact(e *fixups.Entry, code []byte) {
	if q.slot == nil || e.Reason != fixups.ReasonNone || q.w.env.Slots == reloc.SlotsRange {
		return
	}
	i := q.arch.Info()
	d := int64(*q.slot - e.PC)
	if i.Bits == 32 || d < i.NearMin || d > i.NearMax {
		return
	}
	env := q.w.env
	env.Slots, env.SlotMin, env.SlotMax = reloc.SlotsRange, d, d
	for k := range e.Forms {
		v := &e.Forms[k]
		if v.Far || v.Reason != fixups.ReasonNoReach && v.Reason != fixups.ReasonNoScratch {
			continue
		}
		one := fixups.Entry{PC: e.PC, Len: e.Len, Forms: []fixups.Verdict{{Form: v.Form}}}
		env.Forms = v.Form.Bit()
		if reloc.Relocate(&one.Forms[0].Plan, q.arch, code, e.PC, &env) != nil {
			continue
		}
		if place(&one, q.arch, q.slot); one.Forms[0].Reason != fixups.ReasonNoReach {
			*v = one.Forms[0]
		}
	}
}

// anyWithoutPlan reports whether some site has no plan in any asked form.
func anyWithoutPlan(t *fixups.Table) bool {
	for i := range t.Entries {
		if !hasPlan(&t.Entries[i]) {
			return true
		}
	}
	return false
}

func hasPlan(e *fixups.Entry) bool {
	for i := range e.Forms {
		if e.Forms[i].Reason == fixups.ReasonNone {
			return true
		}
	}
	return false
}
