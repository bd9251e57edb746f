package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Traps are reported with the pc behind them (SDM volume 3, table 6-1: breakpoint,
// overflow, and INT n; volume 2, INT1), so a copy's is reported at the end of the
// copy, where all that is left is the way out. Its point leads forward, to the end
// of the site, which is what the program's handler must see.
//
// In kernel mode such a trap belongs to the kernel, which looks up the pc to tell
// its own breakpoints apart: refused.

// trap moves INT3, INT1 and INTO, which traps if OF is set and else does nothing.
func (b *planner) trap(step bool) fixups.Reason {
	if r := b.hazards(copyable); r != fixups.ReasonNone {
		return r
	}
	return b.trapCopy(step)
}

// softInt moves INT n. What the vector allows user code (system calls, 3 and 4)
// comes back behind it; anything else faults at the instruction. A child that a
// system call makes starts in the slot.
//
// INT 2D of Windows skips the byte behind itself, so it belongs to its neighbour.
func (b *planner) softInt(step bool) fixups.Reason {
	const windowsDebugService = 0x2d
	h := copyable | fixups.Hazards(1<<fixups.HazardKernelEntry|1<<fixups.HazardKernelSeesPC)
	if r := b.hazards(h); r != fixups.ReasonNone {
		return r
	}
	if b.env.OS == reloc.Windows && b.in.Bytes[b.l.immOff()] == windowsDebugService {
		return fixups.ReasonAdjacent
	}
	b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: uint16(b.in.Len), Kind: fixups.EscapeChild})
	return b.trapCopy(step)
}

// trapCopy copies what traps behind itself. In the step form the stop at the end
// of the copy may be that trap, which is the program's: the signal goes to the
// program, after Abort, which goes by pc as Post does.
func (b *planner) trapCopy(step bool) fixups.Reason {
	if step && b.isStop() {
		return fixups.ReasonNoStop
	}
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.bytes(b.in.Bytes[:b.in.Len]...)
	if !step {
		return b.tail(b.next())
	}
	b.guard(b.next())
	b.p.Post = b.postCopy()
	q := b.begin()
	q.mov(fixups.T(1), fixups.PC())
	q.mov(fixups.PC(), fixups.SitePlus(0))
	q.skip(1, fixups.T(1), fixups.CondNE, fixups.SlotPlus(b.next()), b.width())
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	b.p.Abort = q.program()
	return fixups.ReasonNone
}

// isStop reports whether the stop that is asked for cannot be told from the site's
// own trap: a breakpoint behind a breakpoint, INT 3 included, and after INT1 the
// single-step, which raises the same exception.
func (b *planner) isStop() bool {
	switch b.l.opcode() {
	case 0xf1:
		return true
	case 0xcc:
		return b.env.Stop == fixups.StopTrap
	case 0xcd:
		return b.env.Stop == fixups.StopTrap && b.in.Bytes[b.l.immOff()] == 3
	}
	return false
}
