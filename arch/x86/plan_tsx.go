package x86

import "github.com/xol-go/xol/fixups"

// Hardware transactions (SDM volume 1, chapter 16). Any trap aborts one, a
// single-step included, so a stepped XBEGIN would always abort, and one that is
// meant to abort is better emulated: there is no step form of any of them.
//
// In a slot that is entered by a jump nothing traps. XABORT goes to the fallback of
// the XBEGIN or is a no-op, XEND and XTEST look at the transaction alone; all of them
// run anywhere. At a boundary behind XBEGIN nobody finds a thread inside the
// transaction: who stops it finds it at the fallback.

// isXBEGIN reports whether the instruction is C7 F8.
func (b *planner) isXBEGIN() bool {
	return b.l.opmap() == 0 && b.l.opcode() == 0xc7 && b.l.has(flagRelImm)
}

// isXTEST reports whether the instruction is XTEST, XSUSLDTRK or XRESLDTRK, which are
// plain but for what a trap does to the transaction: 0F 01 and a register.
func (b *planner) isXTEST() bool {
	return b.l.opmap() == 1 && b.l.opcode() == 0x01 && b.l.mod() == 3
}

// transaction moves XBEGIN, XEND and XABORT.
func (b *planner) transaction(step bool) fixups.Reason {
	if step {
		return fixups.ReasonTransaction
	}
	if b.isXBEGIN() {
		return b.xbegin()
	}
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.bytes(b.in.Bytes[:b.in.Len]...)
	return b.tail(b.next())
}

// xbegin gives the copy a displacement of 32 bits, whatever the site's: the
// prefix 66 changes nothing but its size. In a near slot it names the site's own
// fallback, so no address of the slot outlives the visit. In a far one it names a
// way there, which is an escape as long as the transaction lasts.
func (b *planner) xbegin() fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	b.bytes(0xc7, 0xf8)
	if b.near {
		b.rel(0, b.target())
		return b.tail(b.next())
	}
	b.p.Strategy = fixups.StrategyIsland
	at := b.grow(4)
	if r := b.tail(b.next()); r != fixups.ReasonNone {
		return r
	}
	b.p.Code[at] = byte(b.off() - at - 4)
	b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: uint16(b.off()), Kind: fixups.EscapeAbort})
	return b.tail(b.target())
}
