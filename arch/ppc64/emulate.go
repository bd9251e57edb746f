package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// emulate makes the emulate form: control flow, addresses relative to pc, loads and
// stores of one general register at one, and no-operations. No arithmetic, nothing
// atomic and no access of more than 8 bytes is emulated, and no transaction (see
// plan_system.go).
//
// Every program loads first, then stores, and changes registers last, so a failed
// access has changed nothing.
//
// What not every processor has is emulated where Env says that this one does: another
// would fault at the site, and no program does.
func (b *planner) emulate() fixups.Reason {
	if !b.knows(b.feature()) {
		return fixups.ReasonNotEmulated
	}
	switch familyOf(b.in) {
	case famNop:
		b.p.Emulate = b.jumpTo(b.next())
		return fixups.ReasonNone
	case famB, famBC:
		return b.emulateBranch()
	case famBCLR, famBCCTR, famBCTAR:
		return b.emulateIndirect()
	case famAddPCIS, famPADDI:
		q := b.begin()
		q.mov(fixups.R(b.rt()), fixups.SitePlus(b.target()))
		q.goTo(b.next())
		b.p.Emulate = q.program()
		return fixups.ReasonNone
	case famPLoad:
		m, _ := b.access()
		q := b.begin()
		b.emulateLoad(&q, m)
		b.p.Emulate = q.program()
		return fixups.ReasonNone
	case famPAccess:
		m, ok := b.access()
		if !ok {
			return fixups.ReasonNotEmulated
		}
		q := b.begin()
		q.store(fixups.SitePlus(b.target()), fixups.R(b.rt()), m.size)
		q.goTo(b.next())
		b.p.Emulate = q.program()
		return fixups.ReasonNone
	}
	return fixups.ReasonNotEmulated
}

// Versions of the ISA, each with the later ones, which have all that it has.
const (
	since310 = FeatureISA310
	since300 = FeatureISA300 | since310
	since207 = FeatureISA207 | since300
)

// knows reports whether the processor is known to have what one of the features of any
// stands for. The little-endian ABI begins with ISA 2.07.
func (b *planner) knows(any reloc.Features) bool {
	return any == 0 || b.env.Features&any != 0 || any == since207 && !b.a.big
}

// feature is what a processor needs to have the instruction, of those that are
// emulated: any of these.
func (b *planner) feature() reloc.Features {
	switch f := familyOf(b.in); {
	case b.prefixed():
		return since310
	case f == famAddPCIS:
		return since300
	case f == famBCTAR:
		return since207
	}
	return 0
}

// access is what an R=1 instruction does with one general register.
type access struct {
	size int  // bytes
	sign bool // a load extends the sign
}

// access reports false for all but loads and stores of one general register. The
// opcode of the suffix tells (Power ISA, Book I, 3.3.2 and 3.3.3): in the MLS form
// those of the word instructions, in the 8LS form their own.
func (b *planner) access() (m access, ok bool) {
	m.size = operandSize(b.in.Ext[0])
	op := b.w2 >> 26
	if b.w>>24&3 == 2 {
		m.sign = op == 42
		return m, op < 48
	}
	m.sign = op == 41
	return m, op == 41 || op == 57 || op == 61
}

// emulateLoad loads, then writes the register, whole.
func (b *planner) emulateLoad(q *steps, m access) {
	t0, rt := fixups.T(0), fixups.R(b.rt())
	q.load(t0, fixups.SitePlus(b.target()), m.size)
	if m.sign {
		q.sext(rt, t0, uint8(8*m.size))
	} else {
		q.mov(rt, t0)
	}
	q.goTo(b.next())
}
