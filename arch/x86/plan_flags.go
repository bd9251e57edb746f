package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The trap flag takes effect behind the instruction that follows the one that sets
// it (SDM volume 3, 18.3.1.4), and an instruction that begins with it set traps
// behind itself even if it clears it. That is all that POPF and IRET ask for:
//
//   - step: the single-step stops behind the copy, and the trap flag is then the
//     program's, as popped; so it stays (hazard changes-tf). With it the program's
//     next instruction traps, which is what the site asked for.
//   - jump: behind POPF comes the tail, and a trap flag that was popped would trap
//     behind that, one instruction early: refused. IRET is its own tail.
//   - emulate: the flags are written when the program is done, and the next
//     instruction is the site's.

const changesFlags = fixups.Hazards(1<<fixups.HazardChangesTF | 1<<fixups.HazardChangesIF)

func (b *planner) isPopf() bool { return b.l.opmap() == 0 && b.l.opcode() == 0x9d }

// popf moves POPF, in both modes.
func (b *planner) popf(step bool) fixups.Reason {
	if r := b.hazards(copyable | changesFlags); r != fixups.ReasonNone {
		return r
	}
	if !step {
		return fixups.ReasonAdjacent
	}
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.bytes(b.in.Bytes[:b.in.Len]...)
	b.guard(b.next())
	b.keepTF()
	b.p.Post = b.postCopy()
	return fixups.ReasonNone
}

// keepTF makes Abort put the program's trap flag back. A stepper that knows that
// the copy sets the flag itself (Linux does) takes the one in the flags for the
// program's, and would be wrong after a fault.
func (b *planner) keepTF() {
	if b.env.Stop == fixups.StopTrap {
		b.p.Abort = gotoSite
		return
	}
	b.p.Pre = b.p.Program(extract(fixups.T(0), b.flags(), bitTF, 1))
	q := b.begin()
	q.insert(b.flags(), fixups.T(0), bitTF, 1)
	q.mov(fixups.PC(), fixups.SitePlus(0))
	b.p.Abort = q.program()
}

// isIret reports whether the instruction is IRET or UIRET.
func (b *planner) isIret() bool {
	return b.l.opmap() == 0 && b.l.opcode() == 0xcf || b.l.opmap() == 1 && b.l.opcode() == 0x01 && b.l.modrm() == 0xec
}

// iret moves IRET and UIRET in user code, where they stay there, and take pc from
// the stack. In kernel mode IRET may return with page tables that do not have the
// slot, and ends the blocking of NMIs; nobody uses UIRET there.
func (b *planner) iret(step bool) fixups.Reason {
	if b.env.Mode == reloc.ModeKernel {
		return fixups.ReasonPrivileged
	}
	if r := b.hazards(transfers | changesFlags); r != fixups.ReasonNone {
		return r
	}
	r := b.asIs(step)
	if step && r == fixups.ReasonNone {
		b.keepTF()
	}
	return r
}
