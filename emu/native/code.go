package native

import (
	"encoding/binary"
	"fmt"
)

// code is a program that is being written: what assemblers have in common.
type code struct {
	base   uint64 // address of b[0]
	b      []byte
	order  binary.ByteOrder
	labels map[string]int
	refs   []ref
}

// ref is a field at off that depends on where a label is. put writes it, given
// the addresses of the label and of the field.
type ref struct {
	off   int
	label string
	put   func(b []byte, to, from uint64)
}

func newCode(base uint64, order binary.ByteOrder) code {
	return code{base: base, order: order, labels: map[string]int{}}
}

func (c *code) raw(b ...byte) { c.b = append(c.b, b...) }

func (c *code) label(name string) { c.labels[name] = len(c.b) }

// word and dword are data in the order of the program.
func (c *code) word(v uint32) {
	c.b = append(c.b, 0, 0, 0, 0)
	c.order.PutUint32(c.b[len(c.b)-4:], v)
}

func (c *code) dword(v uint64) {
	c.b = append(c.b, make([]byte, 8)...)
	c.order.PutUint64(c.b[len(c.b)-8:], v)
}

// refer notes that what comes next depends on a label.
func (c *code) refer(label string, put func(b []byte, to, from uint64)) {
	c.refs = append(c.refs, ref{len(c.b), label, put})
}

// quad is the address of a label as data.
func (c *code) quad(label string) {
	c.refer(label, func(b []byte, to, _ uint64) { c.order.PutUint64(b, to) })
	c.dword(0)
}

// link fills in what refers to labels.
func (c *code) link() ([]byte, error) {
	for _, r := range c.refs {
		at, ok := c.labels[r.label]
		if !ok {
			return nil, fmt.Errorf("native: no label %s", r.label)
		}
		r.put(c.b[r.off:], c.base+uint64(at), c.base+uint64(r.off))
	}
	return c.b, nil
}
