package relocgen

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// keyer gives numbers to the keys of instructions of an ISA on which neighbours
// matter: each is decoded and its context looked at, and where that has nothing to
// say the key tells the shape.
type keyer struct {
	arch    reloc.Arch
	shaper  reloc.Shaper
	context reloc.Contexter // nil: there is none
	calls   bool            // of a call the callee has a say
	numbers map[[2]uint64]fixups.ShapeID
	keys    []reloc.ScanKey // by number
	copies  bool            // the last instruction was a plain copy
}

// newKeyer returns nil if a has no shapes, or plans depend on code elsewhere: under
// landing pads on whether the target is one.
func newKeyer(a reloc.Arch, env *reloc.Env) *keyer {
	shaper, ok := a.(reloc.Shaper)
	if !ok || env.BTI == reloc.On {
		return nil
	}
	k := &keyer{arch: a, shaper: shaper, numbers: map[[2]uint64]fixups.ShapeID{}}
	k.context, _ = a.(reloc.Contexter)
	k.calls = env.Return == fixups.ReturnsSlot
	return k
}

// keyOf reports whether in has a key, or is a plain copy. in is as decoded when it
// returns.
func (k *keyer) keyOf(in *reloc.Insn, env *reloc.Env, key *[2]uint64) bool {
	if k.calls && (in.Class == fixups.ClassCall || in.Class == fixups.ClassIndirectCall) {
		return false
	}
	hazards := in.Hazards
	if k.context != nil && (k.context.Context(in, env) != nil || in.Hazards != hazards) {
		in.Hazards = hazards
		return false
	}
	kind := k.shaper.ShapeKey(in, key)
	k.copies = kind == reloc.ShapeCopy
	return kind != reloc.ShapeOwn
}

// number returns the number of a key.
func (k *keyer) number(in *reloc.Insn, key *[2]uint64) fixups.ShapeID {
	n, ok := k.numbers[*key]
	if !ok {
		n = fixups.ShapeID(len(k.keys))
		k.numbers[*key] = n
		k.keys = append(k.keys, reloc.ScanKey{Key: *key, Insn: *in})
	}
	return n
}
