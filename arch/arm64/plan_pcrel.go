package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// pcAddress moves ADR and ADRP, which compute an address and do nothing else. So
// whatever makes the same address in the same register is right, and a thread that
// is stopped half way needs no more than the rest. Register 31 is no register
// here: the result is dropped.
func (b *planner) pcAddress(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	rd, page := b.rd(), b.family() == famADRP
	b.start()
	switch {
	case rd == zr:
		b.p.Strategy = fixups.StrategyAbsolute
		b.emit(wordNOP)
		return b.ended(step)
	case page && b.dist != distFar:
		b.p.Strategy = fixups.StrategyReEncode
		b.adrp(rd, b.target())
		if b.farPage() {
			b.undo()
			break
		}
		return b.ended(step)
	case !page && b.dist == distShort:
		b.p.Strategy = fixups.StrategyReEncode
		b.adr(rd, b.target())
		return b.ended(step)
	}
	b.p.Strategy = fixups.StrategyOwnDest
	if step {
		return b.stepAddress(rd)
	}
	mid := func() {
		q := b.begin()
		q.mov(xreg(rd), fixups.SitePlus(b.target()))
		q.mov(fixups.PC(), fixups.SitePlus(b.next()))
		b.point(fixups.StatePart, nil, q.program())
	}
	if page && b.dist != distFar {
		b.constant(rd, b.target(), mid)
	} else {
		b.address(rd, b.target(), mid)
	}
	return b.tail(b.next())
}

// farPage reports whether ADRP in the slot reaches less than near slots may lie
// apart: the page is at the far end of what the site's reaches.
func (b *planner) farPage() bool {
	return b.min > b.a.info.NearMin || b.max < b.a.info.NearMax
}

// undo takes the instruction at the start of the slot back.
func (b *planner) undo() {
	b.p.Code, b.p.Relocs = b.p.Code[:0], b.p.Relocs[:0]
	b.min, b.max = anySlot.Min, anySlot.Max
}

var anySlot = fixups.AnyReach()

// constant is address for what no slot of ours reaches relative to pc, without a
// literal, whose alignment would leave out every other slot.
func (b *planner) constant(rd int, delta int64, mid func()) {
	for part := range uint8(4) {
		if part > 0 {
			mid()
		}
		b.wide(rd, delta, part)
	}
}

// stepAddress leaves the work to Post: nothing is as far from the slot that Post
// could not name it.
func (b *planner) stepAddress(rd int) fixups.Reason {
	b.emit(wordNOP)
	b.guard(b.next())
	b.p.Abort = gotoSite
	q := b.begin()
	q.skip(2, fixups.PC(), fixups.CondNE, fixups.SlotPlus(4), 64)
	q.mov(xreg(rd), fixups.SitePlus(b.target()))
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// pcLoad moves the loads of a literal, and PRFM of one. A literal is loaded where
// it is: it may change, and its page may fault.
//
// The field reaches ±1 MiB. Farther the address goes into a register first: a dead
// one, or one that waits on the stack meanwhile, or, if the caller allows it, the
// destination, whose old value is lost if the load faults. Near slots that have none
// of them get the plan that reaches as far as the field does.
//
// PRFM is a hint: where its field does not reach it is left out.
func (b *planner) pcLoad(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	switch {
	case b.dist == distShort:
		return b.reencodeLoad(step)
	case b.family() == famPRFMLit:
		b.p.Strategy = fixups.StrategyAbsolute
		b.start()
		b.emit(wordNOP)
		return b.ended(step)
	case step:
		return b.stepWithScratch(b.loadFrom, true)
	}
	if n := b.scratch(); n >= 0 {
		return b.loadByDead(n)
	}
	switch {
	case b.canSpill():
		return b.loadBySpill()
	case b.env.AllowLost && b.family() == famLDRLit && b.rd() != zr:
		return b.loadByOwn()
	case b.dist == distNear:
		return b.reencodeLoad(step)
	}
	return fixups.ReasonNoScratch
}

// reencodeLoad copies the instruction with a new displacement.
func (b *planner) reencodeLoad(step bool) fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	b.relative(b.w&^(1<<24-1<<5), b.target(), 5, 19)
	return b.ended(step)
}

// Kinds of literal: bits 31 and 30, opc, of the instruction.
const (
	opcWord = 0 // W or S
	opcLong = 1 // X or D
	opcSign = 2 // SW or Q
)

// loadFrom is the load with [xn] for its address: the same destination, size and
// extension.
func (b *planner) loadFrom(n int) uint32 {
	words := [3]uint32{wordLDRW0, wordLDRX0, wordLDRSW}
	if b.family() == famLDRVLit {
		words = [3]uint32{wordLDRS0, wordLDRD0, wordLDRQ0}
	}
	return words[b.w>>30%3] | uint32(n)<<5 | uint32(b.rd())
}

// loadByDead loads from [xn], where xn is dead: the site may begin anew from every
// boundary before the load, and all is done behind it.
func (b *planner) loadByDead(n int) fixups.Reason {
	b.p.Strategy = fixups.StrategyDeadReg
	b.clobber(n)
	b.start()
	b.address(n, b.target(), b.start)
	b.start()
	b.emit(b.loadFrom(n))
	return b.tail(b.next())
}

// loadByOwn loads a register from the address in itself.
func (b *planner) loadByOwn() fixups.Reason {
	n := b.rd()
	b.p.Strategy = fixups.StrategyOwnDest
	b.start()
	lost := func() {
		pt := b.point(fixups.StateStart, gotoSite, nil)
		pt.Lost.Add(fixups.Reg(n))
		b.p.Lost = pt.Lost
	}
	b.address(n, b.target(), lost)
	lost()
	b.emit(b.loadFrom(n))
	return b.tail(b.next())
}

// The spill of one register moves the stack pointer by 16, which keeps it aligned,
// before anything is written below it, in one instruction: a signal at any
// boundary spares what is at and above it.
const spillRoom = 16

// canSpill reports whether a register may wait on the stack: the offset that skips
// what compiled code keeps below the stack pointer has nine bits. Go guarantees a
// leaf no more of its stack than it uses.
func (b *planner) canSpill() bool {
	return b.env.Spill && b.env.Lang != reloc.LangGo && b.spillSize() <= 240
}

// spillSize is by how much a spill moves the stack pointer.
func (b *planner) spillSize() int64 {
	zone, _ := b.env.ZoneOf(b.a.info)
	return int64(zone+15)&^15 + spillRoom
}

// loadBySpill is
//
//	str xn,[sp,#-size]!  address  load [xn]  ldr xn,[sp],#size
//
// where size is 16 and what compiled code keeps below the stack pointer. xn is not
// the destination.
func (b *planner) loadBySpill() fixups.Reason {
	n := ip0
	if b.family() == famLDRLit && b.rd() == ip0 {
		n = ip1
	}
	size := b.spillSize()
	b.p.Strategy = fixups.StrategySpill
	zone, _ := b.env.ZoneOf(b.a.info)
	b.p.Stack = uint16(size - int64(zone)) // the word is at the lower end
	b.start()
	b.emit(wordPush | imm9(-size) | 31<<5 | uint32(n))
	spilled := func() { b.spilled(n, fixups.StateStart, 0) }
	spilled()
	b.address(n, b.target(), spilled)
	spilled()
	b.emit(b.loadFrom(n))
	b.spilled(n, fixups.StatePart, b.next())
	b.emit(wordPop | imm9(size) | 31<<5 | uint32(n))
	return b.tail(b.next())
}

// imm9 is the offset of a load or store that moves its base.
func imm9(v int64) uint32 { return uint32(v) & 0x1ff << 12 }

// spilled is a boundary at which register n waits on the stack: it is put back on
// the way to Site + delta.
func (b *planner) spilled(n int, s fixups.State, delta int64) {
	q := b.begin()
	q.load(xreg(n), fixups.R(SP), 8, b.dataOrder())
	q.op2(fixups.OpAdd, fixups.R(SP), fixups.R(SP), fixups.Const(b.spillSize()))
	q.mov(fixups.PC(), fixups.SitePlus(delta))
	if s == fixups.StateStart {
		b.point(s, q.program(), nil)
		return
	}
	b.point(s, nil, q.program())
}

// dataOrder is the byte order of the process's data.
func (b *planner) dataOrder() fixups.End {
	if b.env.DataOrder == reloc.DataBig {
		return fixups.BigEndian
	}
	return fixups.LittleEndian
}

// stepWithScratch steps what form makes of a register that holds the address. The
// register is loaded before, and put back after, whatever happened. It is x16, or
// x17 if that is the destination, so nothing else of the instruction can tell. The
// points have no programs: only Post and Abort know the saved value. on says
// whether the copy goes on behind itself.
func (b *planner) stepWithScratch(form func(n int) uint32, on bool) fixups.Reason {
	if !on && b.p.Stop == fixups.StopTrap {
		return fixups.ReasonNoStop
	}
	n := ip0
	if b.family() == famLDRLit && b.rd() == ip0 {
		n = ip1
	}
	b.p.Strategy = fixups.StrategyDeadReg
	s, saved := xreg(n), fixups.T(0)
	b.p.Pre = b.p.Program(mov(saved, s), mov(s, fixups.SitePlus(b.target())))
	b.p.Abort = b.p.Program(mov(s, saved), mov(fixups.PC(), fixups.SitePlus(0)))
	b.point(fixups.StateStart, nil, nil)
	b.emit(form(n))
	b.guard(b.next())
	pt := &b.p.Points[1]
	pt.Forward, pt.HasForward = nil, false
	q := b.begin()
	q.mov(s, saved)
	if on {
		b.afterCopy(&q)
	}
	b.p.Post = q.program()
	return fixups.ReasonNone
}
