package wordscan

// Flow is what an instruction does to an exclusive sequence.
type Flow uint8

// What it does.
const (
	Goes   Flow = iota // nothing
	Opens              // begins one
	Closes             // ends it
)

// searchBytes is how much code at once is searched for what opens a sequence.
const searchBytes = 1 << 10

// windows tells which instructions may be in an exclusive sequence: those that a way
// from one that opens it leads to, and from which a way leads to one that closes it.
// Context asks for ways that stay near the instruction; those are among the ways
// here, which stay twice as near to where they begin.
type windows struct {
	port    Port
	addr    uint64   // of the code
	near    int      // bytes from an instruction in a sequence to what opens it, at most
	first   int      // offset of bit 0 of marks
	until   int      // marks are right for what is opened in front of this offset
	cleared int      // words of marks
	marks   []uint64 // bit i mod 64 of word i/64: word i may be in a sequence
	nodes   []node
	order   []uint16 // places in nodes that a way has come to
}

// node is a word near to what opens a sequence.
type node struct {
	succ  [2]int16 // places in nodes, -1 if none
	met   bool
	leads bool // to what closes the sequence
}

func newWindows(port Port, near int) windows {
	n := 4*near/wordLen + 1
	return windows{port: port, near: near, nodes: make([]node, n), order: make([]uint16, 0, n)}
}

// begin says that mayCover will be asked of offsets from at on, ascending.
func (w *windows) begin(code []byte, at int, addr uint64) {
	w.addr, w.first = addr, at&(wordLen-1)
	if n := len(code)/(wordLen*64) + 1; n > len(w.marks) {
		w.marks = make([]uint64, 2*n)
	}
	w.until = max(w.first, at-w.near)
	w.cleared = max(w.first, w.until-w.near) / (wordLen * 64)
}

// mayCover reports whether an exclusive sequence may cover code[at:].
func (w *windows) mayCover(code []byte, at int) bool {
	for at+w.near >= w.until && w.until < len(code) {
		w.search(code)
	}
	i := (at - w.first) / wordLen
	return w.marks[i>>6]>>(i&63)&1 != 0
}

// search marks what is covered by sequences that are opened in the next piece of
// code.
func (w *windows) search(code []byte) {
	end := min(w.until+searchBytes, len(code))
	for last := min((end+w.near)/(wordLen*64)+1, len(w.marks)); w.cleared < last; w.cleared++ {
		w.marks[w.cleared] = 0
	}
	for at := w.until; at < end; at += wordLen {
		if at += w.port.FirstLoad(code[at:end]); at+wordLen <= end {
			w.opened(code, at)
		}
	}
	w.until = end
}

// opened marks what may be covered by a sequence that is opened at at.
func (w *windows) opened(code []byte, at int) {
	lo := max(w.first, at-2*w.near)
	code = code[lo:min(len(code), at+2*w.near+wordLen)]
	w.reach(code, at-lo, w.addr+uint64(lo))
	w.lead()
	for _, k := range w.order {
		d := lo + int(k)*wordLen
		if w.nodes[k].leads && at-w.near <= d && d <= at+w.near {
			i := (d - w.first) / wordLen
			w.marks[i>>6] |= 1 << (i & 63)
		}
	}
}

// reach finds the words of code that a way from behind the word at at leads to.
func (w *windows) reach(code []byte, at int, addr uint64) {
	words := len(code) / wordLen
	nodes := w.nodes[:words]
	clear(nodes)
	w.order = w.order[:0]
	come := func(to int) int16 {
		if to < 0 || to+wordLen > len(code) {
			return -1
		}
		k := to / wordLen
		if !nodes[k].met {
			nodes[k].met = true
			w.order = append(w.order, uint16(k))
		}
		return int16(k)
	}
	next, _, _ := w.port.Flow(code, at, addr)
	come(next)
	for i := 0; i < len(w.order); i++ {
		n := &nodes[w.order[i]]
		next, target, f := w.port.Flow(code, int(w.order[i])*wordLen, addr)
		n.succ = [2]int16{-1, -1}
		switch f {
		case Goes:
			n.succ = [2]int16{come(next), come(target)}
		case Closes:
			n.leads = true
		}
	}
}

// lead finds those of them from which a way leads to what closes the sequence.
func (w *windows) lead() {
	for more := true; more; {
		more = false
		for i := len(w.order) - 1; i >= 0; i-- {
			n := &w.nodes[w.order[i]]
			if n.leads {
				continue
			}
			for _, k := range n.succ {
				if k >= 0 && w.nodes[k].leads {
					n.leads, more = true, true
				}
			}
		}
	}
}
