package reloc

// ShapeKind says on what the plans for an instruction depend.
type ShapeKind uint8

// The kinds.
const (
	// ShapeOwn: nothing general can be said.
	ShapeOwn ShapeKind = iota
	// ShapeCopy: all verdicts depend on the length alone.
	ShapeCopy
	// ShapeKeyed: they depend on the key, the bytes and D alone ([ScanShaper]):
	// on the bytes only by copying all of them, on D only by addition, the ends of
	// a reach also by which of two is greater (docs/format.md, section Binary).
	ShapeKeyed
)

// Shaper is implemented by ports that can tell instructions whose plans have one
// shape from their encoding, so that a writer of tables makes each plan once.
// The answer holds under one Env, and where [Contexter] has no objection. It does
// not hold where [Env.ExecuteOnly] is set or registers are dead ([Env.Dead],
// [ABIEntry]): what leaves such a slot may depend on every register that the
// instruction uses.
type Shaper interface {
	ShapeKey(in *Insn, key *[2]uint64) ShapeKind

	// Retarget appends to dst the bytes of in with another pc-relative field, by
	// which Target - PC is d. in has a target and is ShapeKeyed, and d fits.
	Retarget(dst []byte, in *Insn, d int64) []byte
}
