package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// BRK, HLT, UDF and DCPS are reported with their own address (Arm ARM, D1.3.1,
// preferred return address), so a copy's is reported in the slot, at a boundary
// where nothing has happened, and goes back to the site: that is where the
// program's handler finds it. A step's own stop, by hardware or by a trap, is
// reported elsewhere.
//
// In kernel mode they belong to the kernel, which looks up the pc of its breakpoints
// and assertions, and to its debugger: refused.
func (b *planner) trap(step bool) fixups.Reason {
	if b.env.Mode == reloc.ModeKernel {
		return fixups.ReasonPrivileged
	}
	if r := b.hazards(copyable | fixups.HazardKernelSeesPC.Bit()); r != fixups.ReasonNone {
		return r
	}
	return b.copied(step)
}
