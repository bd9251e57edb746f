package reloctest

import (
	"fmt"
	"slices"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// panicked is the error of a call that panicked.
type panicked struct{ v any }

func (p *panicked) Error() string { return fmt.Sprintf("panicked: %v", p.v) }

// decode calls Decode with a slice that ends where its bytes end, so that a
// read past them panics, and turns a panic into an error.
func (s *suite) decode(in *reloc.Insn, code []byte, pc uint64) (err error) {
	return s.decodeFor(in, code, pc, nil)
}

// decodeFor is decode for the processors that env names.
func (s *suite) decodeFor(in *reloc.Insn, code []byte, pc uint64, env *reloc.Env) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v}
		}
	}()
	return reloc.DecodeFor(in, s.a, code[:len(code):len(code)], pc, env)
}

// guard, deferred, reports a panic of what has no error to turn it into.
func (s *suite) guard(code []byte, pc uint64) {
	if v := recover(); v != nil {
		s.rep.add(ruleNoPanic, code, pc, "a method panicked: %v", v)
	}
}

// code runs everything there is for one input. It is decoded at every address;
// plans are asked for at the first and at one of the others.
func (s *suite) code(code []byte) {
	defer s.guard(code, 0)
	s.turn++
	for k, pc := range s.pcs {
		var in reloc.Insn
		if !s.decodeOne(&in, code, pc) {
			continue
		}
		s.reached(&in)
		s.otherPCs(&in, code)
		if k == 0 {
			s.cuts(code, pc)
			s.askew(code, pc)
			s.extras(&in)
		}
		if !s.opts.DecodeOnly && (k == 0 || k == s.turn%len(s.pcs)) {
			s.plans(&in, code)
		}
	}
	if len(s.pcs) > 0 {
		var in reloc.Insn
		if s.decode(&in, code, s.pcs[0]) != nil {
			s.cuts(code, s.pcs[0])
		}
	}
}

// reached notes the row of an instruction.
func (s *suite) reached(in *reloc.Insn) {
	if d, ok := s.a.(reloc.Describer); ok {
		if r, ok := d.RowOf(in); ok {
			s.hit[r.ID] = true
		}
	}
}

// decodeOne decodes and checks one answer; false if there is no instruction.
func (s *suite) decodeOne(in *reloc.Insn, code []byte, pc uint64) bool {
	err := s.decode(in, code, pc)
	var dirty reloc.Insn
	dirtyFill(&dirty)
	err2 := s.decode(&dirty, code, pc)
	if err != nil {
		s.refusal(in, err, code, pc)
		if err2 != err && !isPanic(err) {
			s.rep.add(ruleAllFields, code, pc, "error %v in a used Insn, %v in a new one", err2, err)
		}
		return false
	}
	if dirty != *in || err2 != nil {
		s.rep.add(ruleAllFields, code, pc, "a used Insn gives %+v, a new one %+v", dirty, *in)
	}
	return s.decoded(in, code, pc)
}

func isPanic(err error) bool { _, ok := err.(*panicked); return ok }

func dirtyFill(in *reloc.Insn) {
	*in = reloc.Insn{PC: ^uint64(0), Target: ^uint64(0), Hazards: ^fixups.Hazards(0), Row: ^uint32(0), Len: 99, AltLen: 99,
		Class: fixups.ClassTrap, Flags: ^reloc.InsnFlags(0), Ext: [2]uint64{^uint64(0), ^uint64(0)}}
	for i := range in.Bytes {
		in.Bytes[i] = 0xa5
	}
}

// refusal checks an error of Decode.
func (s *suite) refusal(in *reloc.Insn, err error, code []byte, pc uint64) {
	if isPanic(err) {
		s.rep.add(ruleNoPanic, code, pc, "Decode %v", err)
		return
	}
	if r, ok := err.(fixups.Reason); !ok || r == fixups.ReasonNone {
		s.rep.add(ruleReason, code, pc, "the error is %#v", err)
		return
	}
	if n := int(in.Len); n > len(code) || n == 0 && len(code) > 0 {
		s.rep.add(ruleErrLen, code, pc, "Len is %d, with error %v", n, err)
	} else if s.i.Resync && err != fixups.ReasonTruncated && (n < s.i.MinLen || n%s.i.Align != 0) {
		s.rep.add(ruleErrLen, code, pc, "Len is %d, with error %v, and code is to go on behind it", n, err)
	}
}

// decoded checks one decoded instruction.
func (s *suite) decoded(in *reloc.Insn, code []byte, pc uint64) bool {
	n := int(in.Len)
	if n < s.i.MinLen || n > s.i.MaxLen || n%s.i.Align != 0 || n > len(code) || int(in.AltLen) > s.i.MaxLen {
		s.rep.add(ruleLen, code, pc, "Len is %d, AltLen %d", n, in.AltLen)
		return false
	}
	bad := func(format string, args ...any) { s.rep.add(ruleInsn, code, pc, format, args...) }
	if in.PC != pc {
		bad("PC is %#x", in.PC)
	}
	if !slices.Equal(in.Raw(), code[:n]) || in.Bytes != [16]byte(append(slices.Clone(code[:n]), make([]byte, 16-n)...)) {
		bad("Bytes is % x", in.Bytes)
	}
	if _, err := in.Class.MarshalText(); err != nil || in.Class == fixups.ClassInvalid {
		bad("class %v", in.Class)
	}
	for h := range in.Hazards.All() {
		if _, err := h.MarshalText(); err != nil {
			bad("hazard %d", h)
		}
	}
	switch in.Class {
	case fixups.ClassBranch, fixups.ClassCondBranch, fixups.ClassCall:
		// The target of a far branch has a segment, so the port may not give it.
		if !in.HasTarget() && in.Class == fixups.ClassCondBranch {
			bad("a %v without a target", in.Class)
		}
	case fixups.ClassPlain, fixups.ClassPCRelative:
		if in.Flags&reloc.Continues == 0 {
			bad("a %v that does not continue", in.Class)
		}
	}
	if in.Class == fixups.ClassBranch && in.Flags&reloc.Continues != 0 {
		bad("a branch that continues")
	}
	if in.Class == fixups.ClassPCRelative && in.Flags&reloc.PCOperand == 0 {
		bad("a pc-relative without a pc-relative operand")
	}
	if in.HasTarget() && s.i.Bits == 32 && in.Target>>32 != 0 {
		bad("target %#x", in.Target)
	}
	return true
}

// cuts decodes every prefix of code. Growing by a byte, the answer is truncated
// until it is final.
func (s *suite) cuts(code []byte, pc uint64) {
	var final error
	var fin reloc.Insn
	have := false
	for n := 0; n <= len(code); n++ {
		var in reloc.Insn
		err := s.decode(&in, code[:n], pc)
		switch {
		case isPanic(err):
			s.rep.add(ruleNoPanic, code[:n], pc, "Decode %v", err)
			return
		case have && (err != final || in.Len != fin.Len || err == nil && in != fin):
			s.rep.add(rulePrefix, code[:n], pc, "%s, but %s for its first %d bytes", answer(&in, err), answer(&fin, final), n-1)
			return
		case have:
		case err == fixups.ReasonTruncated:
			if int(in.Len) != n {
				s.rep.add(ruleErrLen, code[:n], pc, "Len is %d, with error %v", in.Len, err)
			}
			if n >= s.i.MaxLen {
				s.rep.add(ruleTruncated, code[:n], pc, "truncated at the greatest length")
			}
		default:
			if n == 0 {
				s.rep.add(ruleTruncated, nil, pc, "no bytes at all: %s", answer(&in, err))
			}
			if int(in.Len) != n {
				s.rep.add(ruleTruncated, code[:n], pc, "%s, but the first %d bytes are truncated", answer(&in, err), n-1)
			}
			final, fin, have = err, in, true
		}
	}
}

// askew decodes what is an instruction at pc at the addresses behind pc at which
// there can be none.
func (s *suite) askew(code []byte, pc uint64) {
	for d := uint64(1); d < uint64(s.i.Align); d++ {
		var in reloc.Insn
		if err := s.decode(&in, code, pc+d); err != fixups.ReasonMidInstruction {
			s.rep.add(ruleAligned, code, pc+d, "%s", answer(&in, err))
		} else {
			s.refusal(&in, err, code, pc+d)
		}
	}
}

func answer(in *reloc.Insn, err error) string {
	if err != nil {
		return fmt.Sprintf("%v with Len %d", err, in.Len)
	}
	return fmt.Sprintf("%v of %d bytes, row %d", in.Class, in.Len, in.Row)
}

// otherPCs compares the instruction with itself at other addresses.
func (s *suite) otherPCs(in *reloc.Insn, code []byte) {
	mask := ^uint64(0) >> (64 - uint(s.i.Bits))
	for _, pc := range s.pcs {
		var at reloc.Insn
		if s.decode(&at, code, pc) != nil {
			s.rep.add(rulePC, code, pc, "refused, but not at %#x", in.PC)
			return
		}
		moved := (in.Target + pc - in.PC) & mask
		switch {
		case at.Len != in.Len || at.AltLen != in.AltLen || at.Row != in.Row || at.Flags != in.Flags:
			s.rep.add(rulePC, code, pc, "%s, but %s at %#x", answer(&at, nil), answer(in, nil), in.PC)
		case !in.HasTarget() || at.Target == moved || at.Target == in.Target:
		case at.Target == moved&0xffff || at.Target == moved&0xffffffff || paged(in, &at):
		default:
			s.rep.add(rulePC, code, pc, "target %#x, but %#x at %#x", at.Target, in.Target, in.PC)
		}
	}
}

// paged accepts targets that move with the page or the 64 KiB block of pc.
func paged(in, at *reloc.Insn) bool {
	for _, bits := range []uint{12, 13, 14, 16} {
		if at.Target-at.PC>>bits<<bits == in.Target-in.PC>>bits<<bits {
			return true
		}
	}
	return false
}
