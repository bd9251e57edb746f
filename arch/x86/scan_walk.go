package x86

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// scanBytes is how many bytes of the text a group of parts takes at most. The lanes
// take parts from one queue, so one may walk nearly all of them.
const scanBytes = 64 << 10

// group are parts that are walked together.
type group struct {
	base   int // what text[0] of the scanner is in the text of the caller
	parts  []reloc.ScanPart
	next   int        // the first part that no lane has taken
	spans  []noteSpan // by part
	others []fixups.Site
}

// lane is the walk through one part after another.
type lane struct {
	pos, last uint64 // in the text of the scanner
	n         uint64 // of notes
	part      int
	notes     [scanBytes]uint64
}

// noteSpan says which notes of a lane are those of a part.
type noteSpan struct {
	lane     *lane
	from, to uint64
}

// Scan implements [reloc.Scanner].
func (s *scanner) Scan(out *reloc.Scan, text []byte, parts []reloc.ScanPart) {
	for len(parts) > 0 {
		n, base := 0, parts[0].At&^63
		for n < len(parts) && parts[n].End-base <= scanBytes {
			n++
		}
		if n == 0 {
			n = 1
			s.long(out, text, &parts[0])
		} else {
			s.walk(out, text, parts[:n])
		}
		parts = parts[n:]
	}
	for n, met := range s.seen[:16] {
		out.Copies |= uint32(met) << n
	}
	clear(s.seen[:16])
}

// long walks a part that is too long for a group in stretches. What reaches over the
// end of a stretch begins the next one.
func (s *scanner) long(out *reloc.Scan, text []byte, p *reloc.ScanPart) {
	p.Stop, p.Sites, p.Own = p.At, 0, 0
	for p.Stop < p.End {
		at, known := p.Stop, len(out.Sites)
		s.stretch[0] = reloc.ScanPart{PC: p.PC + uint64(at-p.At), At: at, End: min(at+scanBytes-64, p.End)}
		q := &s.stretch[0]
		s.walk(out, text, s.stretch[:])
		for i := range out.Sites[known:] {
			out.Sites[known+i].Off += uint32(at - p.At)
		}
		p.Stop, p.Sites, p.Own = q.Stop, p.Sites+q.Sites, p.Own+q.Own
		if q.Stop == at {
			break
		}
	}
}

// walk does both rounds for the parts of a group.
func (s *scanner) walk(out *reloc.Scan, text []byte, parts []reloc.ScanPart) {
	g := &s.group
	*g = group{base: parts[0].At &^ 63, parts: parts, spans: g.spans[:0], others: g.others[:0]}
	end := parts[len(parts)-1].End
	copy(s.text[:], text[g.base:end+16])
	starts := s.starts[:(end-g.base+63)/64]
	clear(starts)
	s.lanes[0].n, s.lanes[1].n = 0, 0
	s.first()
	for i, w := range starts {
		out.Starts[g.base/64+i] |= w
	}
	for i, sp := range g.spans {
		p := &parts[i]
		out.Sites = s.keep(out.Sites, uint64(p.At-g.base), p.PC-uint64(p.At-g.base), p, sp.lane.notes[sp.from:sp.to])
	}
}

// first is the first round: both lanes while there is work for two, then the one
// that is left.
func (s *scanner) first() {
	a, b := &s.lanes[0], &s.lanes[1]
	moreA := s.take(a)
	moreB := s.take(b)
	for moreA && moreB {
		haltA, haltB := s.lengths2()
		if haltA {
			moreA = s.halt(a)
		}
		if haltB {
			moreB = s.halt(b)
		}
	}
	if moreB {
		a = b
	}
	for moreA || moreB {
		s.lengths(a)
		if !s.halt(a) {
			break
		}
	}
}

// take gives a lane the next part, if there is one.
func (s *scanner) take(l *lane) bool {
	g := &s.group
	if g.next == len(g.parts) {
		return false
	}
	p := &g.parts[g.next]
	l.part, l.pos, l.last = g.next, uint64(p.At-g.base), uint64(p.End-g.base)
	g.spans = append(g.spans, noteSpan{l, l.n, l.n})
	g.next++
	return true
}

// halt is what happens where the walk of a lane does not know on: the part ends, or
// an instruction is to be decoded. It reports whether the lane goes on.
func (s *scanner) halt(l *lane) bool {
	g := &s.group
	p := &g.parts[l.part]
	if l.pos < l.last && s.other(l, p) {
		return true
	}
	p.Stop = g.base + int(l.pos)
	g.spans[l.part].to = l.n
	return s.take(l)
}

// other takes a lane over an instruction that it does not know by itself, unless
// that is left to the caller.
func (s *scanner) other(l *lane, p *reloc.ScanPart) bool {
	in, off := &s.in, l.pos-uint64(p.At-s.group.base)
	if s.a.Decode(in, s.text[l.pos:l.last], p.PC+off) != nil || in.AltLen != 0 || in.Class == fixups.ClassTrap ||
		in.Hazards.Has(fixups.HazardShadow) || in.Hazards.Has(fixups.HazardVendor) {
		return false
	}
	s.starts[l.pos>>6] |= 1 << (l.pos & 63)
	var key [2]uint64
	kind := s.a.ShapeKey(in, &key)
	if kind == reloc.ShapeCopy {
		s.seen[in.Len] = 1
	} else {
		site := fixups.Site{Off: uint32(off), Shape: reloc.ScanOwn, D: s.a.ShapeD(in)}
		if kind == reloc.ShapeKeyed {
			site.Shape = s.Key(in, &key)
		}
		l.notes[l.n&(scanBytes-1)] = l.pos | kindOther<<noteKind | uint64(len(s.group.others))<<noteOther
		l.n++
		s.group.others = append(s.group.others, site)
	}
	l.pos += uint64(in.Len)
	return true
}

// lengths walks in one lane, as far as it knows.
func (s *scanner) lengths(l *lane) {
	pos, n := l.pos, l.n
	for {
		w := binary.LittleEndian.Uint64(s.text[pos&(scanBytes-1):][:8])
		t := s.rexes[w&0xff]
		w >>= t & 63
		o := &s.ops[w&0xff]
		if w&0xff == 0x0f {
			w >>= 8
			o = &s.ops[256+w&0xff]
		}
		modrm := uint8(w >> 8)
		m := s.mods[modrm] & o.modrm
		kind := s.kinds[(o.kind+uint16(modrm&o.byMod))&(scanKinds-1)]
		size := uint64(t>>3&1 + o.len + m&modLen)
		if (t&o.wide|m|kind)&scanMore != 0 {
			size, kind = further(size, t&o.wide, m, kind, w)
		}
		if kind&kindSlow != 0 || pos+size > l.last {
			break
		}
		x := uint64(size) | uint64(kind|m&modRIP)<<8
		s.starts[pos>>6&(scanBytes/64-1)] |= 1 << (pos & 63)
		s.seen[uint16(x)] = 1
		l.notes[n&(scanBytes-1)] = x<<noteLen | pos
		n += uint64((kind | m>>7) & 1)
		pos += size
	}
	l.pos, l.n = pos, n
}

// further is what few lengths depend on: REX.W, the base of a SIB byte behind mod 00,
// and whether an instruction of group 3 has an immediate.
func further(size uint64, wide, m, kind uint8, w uint64) (uint64, uint8) {
	if wide != 0 {
		size += 4
	}
	if m&modBase != 0 && w>>16&7 == 5 {
		size += 4
	}
	if kind&scanMore != 0 {
		size += 1 << (kind >> 4 & 3)
		kind &= 15
	}
	return size, kind
}

// lengths2 is lengths for both lanes in turn, written out for each: what is in
// registers, and what waits for what, is all that matters here. It returns as soon
// as one of them halts, and which.
func (s *scanner) lengths2() (haltA, haltB bool) {
	a, b := &s.lanes[0], &s.lanes[1]
	posA, nA, posB, nB := a.pos, a.n, b.pos, b.n
	for {
		wA := binary.LittleEndian.Uint64(s.text[posA&(scanBytes-1):][:8])
		tA := s.rexes[wA&0xff]
		wA >>= tA & 63
		oA := &s.ops[wA&0xff]
		if wA&0xff == 0x0f {
			wA >>= 8
			oA = &s.ops[256+wA&0xff]
		}
		modrmA := uint8(wA >> 8)
		mA := s.mods[modrmA] & oA.modrm
		kindA := s.kinds[(oA.kind+uint16(modrmA&oA.byMod))&(scanKinds-1)]
		sizeA := uint64(tA>>3&1 + oA.len + mA&modLen)
		if (tA&oA.wide|mA|kindA)&scanMore != 0 {
			sizeA, kindA = further(sizeA, tA&oA.wide, mA, kindA, wA)
		}

		wB := binary.LittleEndian.Uint64(s.text[posB&(scanBytes-1):][:8])
		tB := s.rexes[wB&0xff]
		wB >>= tB & 63
		oB := &s.ops[wB&0xff]
		if wB&0xff == 0x0f {
			wB >>= 8
			oB = &s.ops[256+wB&0xff]
		}
		modrmB := uint8(wB >> 8)
		mB := s.mods[modrmB] & oB.modrm
		kindB := s.kinds[(oB.kind+uint16(modrmB&oB.byMod))&(scanKinds-1)]
		sizeB := uint64(tB>>3&1 + oB.len + mB&modLen)
		if (tB&oB.wide|mB|kindB)&scanMore != 0 {
			sizeB, kindB = further(sizeB, tB&oB.wide, mB, kindB, wB)
		}

		haltA = kindA&kindSlow != 0 || posA+sizeA > a.last
		haltB = kindB&kindSlow != 0 || posB+sizeB > b.last
		if haltA || haltB {
			break
		}
		xA := uint64(sizeA) | uint64(kindA|mA&modRIP)<<8
		s.starts[posA>>6&(scanBytes/64-1)] |= 1 << (posA & 63)
		s.seen[uint16(xA)] = 1
		a.notes[nA&(scanBytes-1)] = xA<<noteLen | posA
		nA += uint64((kindA | mA>>7) & 1)
		posA += sizeA
		xB := uint64(sizeB) | uint64(kindB|mB&modRIP)<<8
		s.starts[posB>>6&(scanBytes/64-1)] |= 1 << (posB & 63)
		s.seen[uint16(xB)] = 1
		b.notes[nB&(scanBytes-1)] = xB<<noteLen | posB
		nB += uint64((kindB | mB>>7) & 1)
		posB += sizeB
	}
	a.pos, a.n, b.pos, b.n = posA, nA, posB, nB
	return haltA, haltB
}
