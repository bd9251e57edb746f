package relocgen

import (
	"fmt"
	"sync/atomic"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// countEncoder writes no sites but how many there are: by form, and by reason
// and class where there is no plan. Several goroutines count at once.
type countEncoder struct {
	arch     reloc.Arch
	sites    atomic.Int64
	noPlan   atomic.Int64
	verdicts [3][2][32][32]atomic.Int64 // by form, near or far, reason, class
}

func (c *countEncoder) parallel() bool            { return true }
func (c *countEncoder) begin(dst []byte) []byte   { return dst }
func (c *countEncoder) first(sites []byte) []byte { return sites }

func (c *countEncoder) site(dst []byte, e *fixups.Entry) []byte {
	c.sites.Add(1)
	if !hasPlan(e) {
		c.noPlan.Add(1)
	}
	for i := range e.Forms {
		v := &e.Forms[i]
		far := 0
		if v.Far {
			far = 1
		}
		c.verdicts[v.Form][far][v.Reason&31][e.Class&31].Add(1)
	}
	return dst
}

func (c *countEncoder) end(dst []byte, gaps []fixups.Range) []byte {
	var bytes uint64
	for _, g := range gaps {
		bytes += g.Size
	}
	n := c.sites.Load()
	dst = fmt.Appendf(dst, "sites %d, without any plan %d, gaps %d of %d bytes\n", n, c.noPlan.Load(), len(gaps), bytes)
	for _, f := range reloc.Order {
		for far := range 2 {
			dst = c.row(dst, f, far)
		}
	}
	return dst
}

// row is one form and kind of slot: plans, then reasons.
func (c *countEncoder) row(dst []byte, f fixups.Form, far int) []byte {
	verdicts := &c.verdicts[f][far]
	var total int64
	for i := range verdicts {
		total += sum(&verdicts[i])
	}
	if total == 0 {
		return dst
	}
	head := f.String()
	if f != fixups.FormEmulate && !c.arch.Info().NearOnly {
		head += " " + [...]string{"near", "far"}[far]
	}
	plans := sum(&verdicts[fixups.ReasonNone])
	dst = fmt.Appendf(dst, "%-10s plans %d, refused %d (%.4f %%)", head, plans, total-plans, 100*float64(total-plans)/float64(total))
	for i := 1; i < len(verdicts); i++ {
		dst = reason(dst, fixups.Reason(i), &verdicts[i])
	}
	return append(dst, '\n')
}

// reason appends how many sites were refused for r, and of which classes they are.
func reason(dst []byte, r fixups.Reason, classes *[32]atomic.Int64) []byte {
	n := sum(classes)
	if n == 0 {
		return dst
	}
	dst = fmt.Appendf(dst, ", %v %d", r, n)
	open := " ("
	for i := range classes {
		if n := classes[i].Load(); n > 0 {
			dst = fmt.Appendf(dst, "%s%v %d", open, fixups.Class(i), n)
			open = ", "
		}
	}
	return append(dst, ')')
}

func sum(counts *[32]atomic.Int64) (n int64) {
	for i := range counts {
		n += counts[i].Load()
	}
	return n
}
