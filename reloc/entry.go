package reloc

import "github.com/xol-go/xol/fixups"

// Field is a run of bytes of an instruction with a name: what a ruler under the
// bytes shows.
type Field struct {
	Off, Len int
	Name     string // prefix, rex, opcode, modrm, sib, disp32, imm8, rel32 ...
}

// Fielder is implemented by ports that can name the fields of an instruction.
type Fielder interface {
	AppendFields(dst []Field, in *Insn) []Field
}

// Describe fills e with all that the port knows of the instruction at the start
// of code, which lives at pc: the row of a [fixups.Table]. Both near and far
// variants of each form are made if both is set. Storage of e is reused.
//
// If the bytes do not decode, or the context forbids moving the site, e.Reason
// says why, every form is refused with it, and Describe returns it. Fields that
// come from an object file (Offset, Func, At) and Text are left alone. A nil env
// is the zero one.
func Describe(e *fixups.Entry, a Arch, code []byte, pc uint64, env *Env, both bool) error {
	forms, s := firstScratch(e.Forms)
	in := &s.in
	*in = Insn{}
	env = orZero(env)
	err := Analyze(in, a, code, pc, env)
	e.PC, e.Class, e.Reason = pc, in.Class, fixups.ReasonNone
	e.Len, e.AltLen, e.Hazards = in.Len, in.AltLen, in.Hazards
	e.HasTarget, e.Target = in.HasTarget(), in.Target
	e.Patch, e.Forms = 0, forms[:0]
	e.Reads, e.Writes, e.Kills = fixups.RegSet{}, fixups.RegSet{}, fixups.RegSet{}
	n := min(int(in.Len), len(code))
	e.Bytes = append(e.Bytes[:0], code[:n]...)
	if err != nil {
		e.Reason = ReasonOf(err)
		e.Forms = s.refuseAll(e.Forms, a, env, both, e.Reason)
		if in.Class == fixups.ClassInvalid {
			return err
		}
	}
	if r, ok := a.(Registerer); ok {
		use := &s.use
		*use = RegUse{}
		r.Registers(use, in)
		e.Reads, e.Writes, e.Kills = use.Reads, use.Writes, use.Kills
	}
	if p, ok := a.(Patcher); ok {
		e.Patch = p.Patch(in, env)
	} else {
		e.Patch = fixups.PatchTrap | fixups.PatchBranch
	}
	if err == nil {
		e.Forms = Verdicts(e.Forms, a, in, env, both)
		e.Hazards |= in.Hazards // plans find some more, see Arch
	}
	return err
}
