package arm64

import "github.com/xol-go/xol/fixups"

// SVC leaves no trace of pc in a register, and the kernel comes back behind it: to
// the slot, in the child of clone, fork or vfork too, which is an escape. The number
// and the arguments are in registers, so the copy is the call.
//
// A call that is restarted after a signal comes back at the start of the copy, and
// goes on at the site. One that does not come back (rt_sigreturn, execve) leaves pc
// elsewhere, where Post lets it be.
//
// HVC and SMC are undefined in user code, and come back behind themselves in the
// kernel's (Arm ARM, D1.3.4).

// syscall moves SVC in user code.
func (b *planner) syscall(step bool) fixups.Reason {
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.emit(b.w)
	b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: uint16(b.off()), Kind: fixups.EscapeChild})
	if !step {
		return b.tail(b.next())
	}
	b.guard(b.next())
	b.p.Post = b.postCopy()
	// A signal that ends a call finds the thread behind the copy: so does Abort.
	q := b.begin()
	t1 := fixups.T(1)
	q.mov(t1, fixups.PC())
	q.mov(fixups.PC(), fixups.SitePlus(0))
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(4), 64)
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	b.p.Abort = q.program()
	return fixups.ReasonNone
}
