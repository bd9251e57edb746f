package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Far transfers load cs. JMP far and RETF depend on nothing of the site but a
// rip-relative operand, so they go with the near ones (see indirect and jump). CALL
// far pushes cs and the return address, each of the operand's size, cs on top of it in
// memory. No program can load cs, so none of them is emulated.
//
// Gates that change the stack are not considered: systems that have them do not let
// programs call through them.

// farCall moves CALL ptr16:16, ptr16:32 and CALL m16:16, m16:32, m16:64.
//
// A stepped copy leaves the slot's address, which post replaces. In the jump form
// a copy is right if its return address may lie in the slot and is not cut. The
// original one cannot be put there by other instructions: PUSH CS has no 64-bit form,
// and a push before the jump would fault before the operand and the descriptor are
// looked at.
func (b *planner) farCall(step bool) fixups.Reason {
	if b.env.SHSTK == reloc.On {
		return fixups.ReasonShadowStack // three words are pushed, one of them cs
	}
	b.p.IsCall = true
	b.p.Returns = b.env.Return
	slot := b.p.Returns == fixups.ReturnsSlot
	n := b.farSize()
	switch {
	case slot && (b.env.Lang == reloc.LangGo || n != b.word()):
		return fixups.ReasonReturnAddress
	case step && b.p.Stop == fixups.StopTrap:
		return fixups.ReasonNoStop
	case step:
		return b.stepFarCall(n)
	case !slot:
		return fixups.ReasonNoScratch
	}
	if b.farRIP() {
		if b.elsewhere() {
			return b.returned()
		}
		return fixups.ReasonNoScratch
	}
	b.start()
	b.copyOperand()
	return b.returned()
}

// farSize is the size in bytes of each of the two words that a far call pushes, 0 if
// that depends on the processor: with REX.W Intel's push words of 64 bits, whatever 66
// says (SDM volume 2, CALL). AMD's manual has no far pointers with such offsets (APM
// volume 3, CALL (Far)), but there are processors of theirs that do as Intel's: the
// name of the vendor does not decide it.
func (b *planner) farSize() int {
	switch {
	case b.a.m64 && b.l.w() != 0 && b.env.Vendor == reloc.VendorIntel:
		return 8
	case b.a.m64 && b.l.w() != 0:
		return 0
	case b.l.pfx(pfx66):
		return 2
	}
	return 4
}

// stepFarCall steps the call itself. Where the size of what it pushes is not
// known, the stack pointer tells.
func (b *planner) stepFarCall(n int) fixups.Reason {
	if n == 0 && b.l.pfx(pfx66) {
		return fixups.ReasonVendor // three sizes, of which a program can store two
	}
	if r := b.stepCopy(); r != fixups.ReasonNone || b.p.Returns == fixups.ReturnsSlot {
		return r
	}
	sp, t2, ret := b.sp(), fixups.T(2), fixups.SitePlus(b.next())
	if n == 0 {
		q := b.begin()
		q.mov(t2, sp)
		for i := range b.p.Pre {
			q.add(b.p.Pre[i])
		}
		b.p.Pre = q.program()
	}
	q := b.begin()
	for i := range b.p.Post {
		q.add(b.p.Post[i])
	}
	if n == 0 {
		q.op2(fixups.OpSub, t2, t2, sp)
		q.skip(2, t2, fixups.CondEQ, fixups.Const(16), 64)
		q.store(sp, ret, 4)
		q.skip(1, t2, fixups.CondNE, fixups.Const(16), 64)
		q.store(sp, ret, 8)
	} else {
		q.store(sp, ret, n)
	}
	b.p.Post = q.program()
	return fixups.ReasonNone
}
