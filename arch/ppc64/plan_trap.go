package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// trap copies tw, twi, td and tdi. A trap is reported with its own address (Book III,
// 7.5.9: SRR0), where the point or Abort leads back to the site. A kernel's own are
// assertions, whose handler looks up the address.
//
// Behind a stop by trap the site's own could not be told from the stop.
func (b *planner) trap(step bool) fixups.Reason {
	if step && b.env.Stop == fixups.StopTrap {
		return fixups.ReasonNoStop
	}
	if r := b.hazards(copyable); r != fixups.ReasonNone {
		return r
	}
	if b.env.Mode == reloc.ModeKernel {
		b.in.Hazards |= fixups.HazardKeyedByPC.Bit()
	}
	return b.copyAs(step)
}
