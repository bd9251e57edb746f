package native

import (
	"encoding/binary"
	"fmt"
	"syscall"

	"github.com/xol-go/xol/emu"
)

// x86ISA is the [isa] of processors that single-step: the runner in runner.go.
type x86ISA struct {
	t      *emu.Target
	f      *Features
	places []place
	masks  []uint64
	flags  int // word of the flags
	st0    int // first word of st0
}

var x86Launch = launch{kind: elfAMD64, program: runnerProgram}

// open starts an engine for x86 code.
func open(t *emu.Target, f *Features) (emu.CPU, error) {
	e, err := openX86(t, f)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func openX86(t *emu.Target, f *Features) (*engine, error) {
	x := &x86ISA{t: t, f: f}
	for i := range t.Words {
		w := &t.Words[i]
		at, err := placeOf(w, f)
		if err != nil {
			return nil, err
		}
		switch {
		case w.Reg == t.Flags:
			x.flags = i
		case w.Name == "st0.0":
			x.st0 = i
		}
		x.places = append(x.places, at)
		x.masks = append(x.masks, ^uint64(0)>>(64-w.Bits))
	}
	e, err := newEngine(x86Launch, t, x, memoryCalls{mmap: sysMmap, munmap: sysMunmap}, recX+max(f.size, xHeaderEnd))
	if err != nil {
		return nil, err
	}
	if r := int64(e.p.get(ctlGuard)); r != 0 {
		e.Close()
		return nil, fmt.Errorf("%w: seccomp: %w", ErrAbsent, syscall.Errno(-r))
	}
	return e, nil
}

func (x *x86ISA) setUp(e *engine) {
	table := e.p.shared[offCtrl+ctlOpcodes:][:256]
	for _, b := range [...]byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3} {
		table[b] = opPrefix
	}
	if x.t.Bits == 64 {
		for b := 0x40; b < 0x50; b++ {
			table[b] = opPrefix
		}
	}
	table[0x9c], table[0x9d], table[0xcf] = opPush, opRestore, opRestore
	e.p.put(ctlExtra, uint64(max(x.f.size, xHeader)-xHeader)/8)
	e.p.put(ctlMode32, uint64(64-x.t.Bits))
}

func (x *x86ISA) run(e *engine, b *emu.Batch) error {
	if err := e.runAll(b); err != nil {
		return err
	}
	if b.Trace != nil {
		n := min(int(b.Stops[b.N-1].Steps), maxTrace)
		b.Trace = b.Trace[:0]
		for i := range n {
			b.Trace = append(b.Trace, e.p.get(offTrace+8*i))
		}
	}
	return nil
}

func (x *x86ISA) begin(e *engine, b *emu.Batch) {
	e.p.put(ctlLo, b.Lo)
	e.p.put(ctlSize, b.Hi-b.Lo)
	e.p.put(ctlLimit, uint64(b.Limit))
	e.p.put(ctlTrace, 0)
	if b.Trace != nil {
		e.p.put(ctlTrace, maxTrace)
	}
	hide := uint64(1)
	if b.Stepped {
		hide = 0
	}
	e.p.put(ctlHide, hide)
}

func (x *x86ISA) gone(uint64, int) {}

func (x *x86ISA) guard() uint64 { return 0 }

// constant is mov eax, imm32.
func (x *x86ISA) constant(n uint32) ([]byte, uint64) {
	n += 0x5eed0000
	return binary.LittleEndian.AppendUint32([]byte{0xb8}, n), uint64(n)
}

// pack makes the record of a state.
func (x *x86ISA) pack(rec []byte, words []uint64) {
	clear(rec)
	for i, p := range x.places {
		p.put(rec, words[i])
	}
	le := binary.LittleEndian
	le.PutUint64(rec[recFlags:], words[x.flags]|flagTF)
	cs := uint16(selCode64)
	if x.t.Bits == 32 {
		cs = selCode32
	}
	le.PutUint16(rec[recCS:], cs)
	le.PutUint16(rec[recSS:], selData)
	le.PutUint64(rec[recX+xHeader:], x.f.components)
}

// unpack reads the words of a record.
func (x *x86ISA) unpack(g *engine, rec []byte, words []uint64, i int) {
	held := binary.LittleEndian.Uint64(rec[recX+xHeader:])
	for _, c := range x.f.parts {
		if x.f.components>>c.number&1 != 0 && held>>c.number&1 == 0 {
			clear(rec[recX+c.off : recX+c.off+c.size]) // in its initial state
		}
	}
	for k, p := range x.places {
		words[k] = p.get(rec) & x.masks[k]
	}
	const flagRF = 1 << 16
	words[x.flags] &^= flagRF // of the trap
	s := offStops + i*stopEntry
	if g.p.get(s+stopKind) == stopSignal || g.p.get(s+stopOp) != opRestore {
		words[x.flags] &^= flagTF // ours
	}
	const pending = 1 << 7 // FSW.ES
	if x.f.NoErrorPointers && rec[recX+xFSW]&pending == 0 {
		x.clearPointers(words)
	}
}

// clearPointers clears the words of the last x87 instruction, which the
// processor does not keep.
func (x *x86ISA) clearPointers(words []uint64) {
	for k := range x.places {
		if off := x.places[k].off - recX; off >= xFOP && off < xMXCSR {
			words[k] = 0
		}
	}
}

// The numbers of exceptions (Intel SDM volume 3, 6.3.1).
const (
	excInvalid = 6
	excPage    = 14

	// NumSystemCall is the number of the exception that a system call is, which
	// no processor has.
	NumSystemCall = 256
)

// stop says how run i of a command ended. lines is how many lines are before
// those of the command.
func (x *x86ISA) stop(g *engine, _ *emu.Batch, i int, lines uint32) emu.Stop {
	at := offStops + i*stopEntry
	s := emu.Stop{Steps: uint32(g.p.get(at + stopSteps)), First: lines + uint32(g.p.get(at+stopFirst)), Lines: uint32(g.p.get(at + stopLines))}
	switch g.p.get(at + stopKind) {
	case stopLeft:
		s.Kind = emu.StopLeft
		return s
	case stopLimit:
		s.Kind = emu.StopLimit
		return s
	}
	rec := g.p.shared[offOut+i*g.record:]
	trap := binary.LittleEndian.Uint64(rec[recTrap:])
	switch {
	case g.p.get(at+stopSig) == sigSYS:
		s.Kind, s.Num = emu.StopException, NumSystemCall
	case trap == excPage:
		s.Kind, s.Addr = emu.StopFault, binary.LittleEndian.Uint64(rec[recCR2:])
		s.Access = access(binary.LittleEndian.Uint64(rec[recErr:]))
	case trap == excInvalid:
		s.Kind, s.Num = emu.StopInvalid, excInvalid
	default:
		s.Kind, s.Num = emu.StopException, uint16(trap)
	}
	return s
}

// access is the direction that the error code of a page fault tells (SDM volume
// 3, 4.7).
func access(code uint64) emu.Access {
	switch {
	case code&16 != 0:
		return emu.AccessFetch
	case code&2 != 0:
		return emu.AccessWrite
	}
	return emu.AccessRead
}

// shape: bases are canonical addresses (else loading them
// faults), so are the last x87 pointers, whose opcode has eleven bits. Of the
// x87 registers some are in use.
func (x *x86ISA) shape(words []uint64) {
	const opcodeBits = 1<<11 - 1
	for i := range words {
		switch x.places[i].off {
		case recFS, recGS, recX + xFIP, recX + xFDP:
			words[i] = uint64(int64(words[i]<<16)>>16) & x.masks[i]
		case recX + xFOP:
			words[i] &= opcodeBits
		case recX + xFTW:
			words[i] = uint64(tags[words[x.st0]>>8&7])
		}
	}
	if x.f.NoErrorPointers {
		x.clearPointers(words)
	}
}

// tags are the abridged tag words that states have: all registers in use, none,
// one or some.
var tags = [8]byte{0xff, 0, 0x7f, 0xfe, 0x81, 0xc0, 3, 0xff}
