package emu

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// zones are drawn for Env.Zone: what ABIs have, their neighbours, and what no
// ABI has; notStated leaves it to the ABI.
var zones = [8]int{notStated, notStated, notStated, 0, 8, 128, 129, 288}

// keeps are drawn for Env.Kept.
var keeps = [8]int{notStated, notStated, notStated, notStated, 0, 128, 288, 512}

const notStated = -1

// rangeEnds are drawn for Env.SlotMin and SlotMax: inside, at and outside the
// reach of direct branches.
func rangeEnds(info *reloc.Info) [8]int64 {
	lo, hi := info.NearMin, info.NearMax
	return [8]int64{-1 << 45, lo - 1<<13, lo + 1<<12, -1 << 20, 1 << 20, hi - 1<<12, hi + 1<<13, 1 << 45}
}

// Env draws a caller's facts and wishes: every field that a port may look at. The
// context is the page of the site, with what was there before. What the plans then declare is what the comparison leaves out,
// so all values are legitimate.
func (w *Worker) Env() reloc.Env {
	v := w.rnd.Uint64()
	one := func(n uint64) bool { // true once in n, which is a power of two
		hit := v&(n-1) == 0
		v = v>>4 | v<<60
		return hit
	}
	e := reloc.Env{
		Spill:       one(2),
		Data:        one(4),
		Short:       one(4),
		AllowLost:   one(4),
		ExecuteOnly: one(8),
		Private:     one(2),
		Biased:      one(4),
		Return:      fixups.Returns(w.rnd.below(2)),
		Stop:        fixups.Stop(w.rnd.below(2)),
		Zone:        bytesOf(zones[w.rnd.below(8)]),
		Kept:        bytesOf(keeps[w.rnd.below(8)]),
		Vendor:      reloc.Vendor(w.rnd.below(3)),
		SHSTK:       reloc.Switch(w.rnd.below(3)),
		IBT:         reloc.Switch(w.rnd.below(3)),
		BTI:         reloc.Switch(w.rnd.below(3)),
		GCS:         reloc.Switch(w.rnd.below(3)),
		ABI:         reloc.ABI(w.rnd.below(3)),
	}
	for i := range w.info.Features {
		if one(2) {
			e.Features |= w.info.Features[i].Bit
		}
	}
	if one(2) {
		e.Code = &w.text
	}
	if one(4) {
		e.Mode = reloc.ModeKernel
	}
	if one(4) {
		e.OS = reloc.OS(w.rnd.below(3))
	}
	if one(4) {
		e.Lang = reloc.LangGo
	}
	if one(4) {
		e.Dead = w.deadSet()
	}
	w.slotsOf(&e)
	return e
}

// bytesOf is n as a field of an Env.
func bytesOf(n int) reloc.Bytes {
	if n == notStated {
		return reloc.Bytes{}
	}
	return reloc.Bytes{N: n, Set: true}
}

// slotsOf draws where slots can be: any, near, or in a range.
func (w *Worker) slotsOf(e *reloc.Env) {
	switch w.rnd.below(8) {
	case 0, 1, 2:
		e.Slots = reloc.SlotsNear
	case 3, 4:
		e.Slots = reloc.SlotsRange
		ends := rangeEnds(w.info)
		lo := w.rnd.below(len(ends) - 1)
		hi := lo + 1 + w.rnd.below(len(ends)-lo-1)
		e.SlotMin, e.SlotMax = ends[lo], ends[hi]
	default:
		e.Slots = reloc.SlotsFar
	}
}

// deadSet draws up to three general registers, the stack pointer never.
func (w *Worker) deadSet() fixups.RegSet {
	var dead fixups.RegSet
	for range 1 + w.rnd.below(3) {
		k := w.x.general[w.rnd.below(len(w.x.general))]
		if r := w.t.Words[k].Reg; r != w.t.SP {
			dead.Add(r)
		}
	}
	return dead
}
