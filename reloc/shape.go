package reloc

// ShapeKind says on what the plans for an instruction depend.
type ShapeKind uint8

// The kinds.
const (
	// ShapeOwn: nothing general can be said.
	ShapeOwn ShapeKind = iota
	// ShapeCopy: all verdicts depend on the length alone.
	ShapeCopy
	// ShapeKeyed: they depend on the key, the bytes and D alone ([Shaper.ShapeD]):
	// on the bytes only by copying all of them, on D only by addition, the ends of
	// a reach also by which of two is greater (docs/format.md, section Binary).
	ShapeKeyed
)

// Shaper is implemented by ports that can tell instructions whose plans have one
// shape from their encoding, so that a writer of tables makes each plan once.
// The answer holds under one Env, and where [Contexter] has no objection. It does
// not hold where [Env.ExecuteOnly] is set: what leaves such a slot may depend on
// every register that the instruction uses.
type Shaper interface {
	ShapeKey(in *Insn, key *[2]uint64) ShapeKind

	// ShapeD returns the D of in: Target - PC if it has a target, else a number in
	// its encoding that is no part of its key, 0 if there is none.
	ShapeD(in *Insn) int64

	// Retarget appends to dst the bytes of in with another D, which fits in the
	// field that holds it, or the bytes of in if none does. in is ShapeKeyed.
	Retarget(dst []byte, in *Insn, d int64) []byte
}
