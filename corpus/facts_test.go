package corpus_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// TestFacts runs the emulate plans of one-instruction cases and compares what
// they leave with the facts of the case. It needs no emulator, since the program
// is all there is to run; the oracles of package emu do the same for slots.
func TestFacts(t *testing.T) {
	ran := 0
	for c := range corpus.All() {
		a, ok := arch.ByName(c.Arch)
		if !ok || len(c.Lens) != 1 || len(c.After) == 0 {
			continue
		}
		w := corpus.Want{Form: fixups.FormEmulate, Plan: true}
		var p reloc.Plan
		if plan(&p, a, c, &w) != nil {
			continue
		}
		for seed := range uint64(4) {
			m := newThread(a, c, seed)
			before := m.clone()
			at, temps := fixups.Bases{Site: c.PC}, fixups.Temps{}
			err := fixups.Run(p.Emulate, m, &at, &temps, a.Info().Bits)
			var ae *fixups.AccessError
			if m.faultAt != 0 && (!errors.As(err, &ae) || ae.Addr != m.faultAt) || m.faultAt == 0 && err != nil {
				t.Errorf("%s: run: %v, want a fault at %#x", c.Key(), err, m.faultAt)
			}
			for _, f := range c.After {
				if f.Name == "fault" {
					f.Name = "pc"
				}
				if c.Insns[0].Class == fixups.ClassCall && f.Name != "pc" && !strings.Contains(f.Name, "[") {
					continue // what the callee leaves
				}
				ran++
				if err := m.check(f, before); err != nil {
					t.Errorf("%s: %s: %v", c.Key(), f, err)
				}
			}
		}
	}
	if ran < 50 {
		t.Errorf("only %d facts were compared", ran)
	}
}

// thread is registers and memory that have some value everywhere.
type thread struct {
	i    *reloc.Info
	seed uint64
	regs map[fixups.Reg]uint64
	mem  map[uint64]byte

	faultAt uint64 // address that cannot be accessed, 0 for none
}

func newThread(a reloc.Arch, c *corpus.Case, seed uint64) *thread {
	m := &thread{i: a.Info(), seed: seed, regs: map[fixups.Reg]uint64{}, mem: map[uint64]byte{}}
	m.regs[fixups.RegPC] = c.PC
	m.regs[m.i.SP] = 0x7ffe0000 + seed*0x1238
	for _, x := range c.Mem {
		for i, b := range x.Data {
			m.mem[x.Addr+uint64(i)] = b
		}
	}
	for _, f := range c.After {
		if f.Name == "fault" && c.Insns[0].Address != nil {
			m.faultAt = *c.Insns[0].Address
		}
	}
	for _, f := range c.Given {
		r, _ := m.i.Regs.Reg(f.Name)
		m.regs[r], _ = m.value(f.Value, m)
	}
	return m
}

func (m *thread) clone() *thread {
	c := *m
	c.regs, c.mem = maps.Clone(m.regs), maps.Clone(m.mem)
	return &c
}

func (m *thread) some(x uint64) uint64 { return (x + m.seed + 1) * 0x9e3779b97f4a7c15 }

func (m *thread) Reg(r fixups.Reg) (uint64, bool) {
	if v, ok := m.regs[r]; ok {
		return v, true
	}
	return m.cut(m.some(uint64(r))), true
}

func (m *thread) cut(v uint64) uint64                { return v & (^uint64(0) >> (64 - uint(m.i.Bits))) }
func (m *thread) SetReg(r fixups.Reg, v uint64) bool { m.regs[r] = v; return true }
func (m *thread) ShadowPush(uint64) bool             { return true }
func (m *thread) ShadowPop() (uint64, bool)          { return 0, false }

func (m *thread) Load(addr uint64, b []byte) bool {
	if m.faultAt != 0 && addr == m.faultAt {
		return false
	}
	for i := range b {
		a := addr + uint64(i)
		v, ok := m.mem[a]
		if !ok {
			v = byte(m.some(a) >> 56)
		}
		b[i] = v
	}
	return true
}

func (m *thread) Store(addr uint64, b []byte) bool {
	for i := range b {
		m.mem[addr+uint64(i)] = b[i]
	}
	return true
}

// check compares a fact with the state; a condition is about the state before.
func (m *thread) check(f corpus.Fact, before *thread) error {
	if f.When != "" {
		op := "="
		name, value, ok := strings.Cut(f.When, "!=")
		if ok {
			op = "!="
		} else {
			name, value, _ = strings.Cut(f.When, "=")
		}
		l, err1 := before.value(name, before)
		r, err2 := before.value(value, before)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("condition %s: %v %v", f.When, err1, err2)
		}
		if (l == r) != (op == "=") {
			return nil
		}
	}
	got, err := m.value(f.Name, m)
	if err != nil {
		return err
	}
	want, err := m.value(f.Value, before)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("it is %#x, want %#x", got, want)
	}
	return nil
}

// value evaluates a name or a value: a number, a register (the value in s), one
// plus or minus a number, [address] of a word of memory, "old" of what was.
func (m *thread) value(x string, s *thread) (uint64, error) {
	x = strings.TrimPrefix(x, "old ")
	if v, err := strconv.ParseUint(x, 0, 64); err == nil {
		return v, nil
	}
	if inner, ok := strings.CutPrefix(x, "["); ok {
		addr, err := m.value(strings.TrimSuffix(inner, "]"), s)
		var b [8]byte
		s.Load(addr, b[:m.i.Bits/8])
		return binary.LittleEndian.Uint64(b[:]), err
	}
	for i, op := range x {
		if i > 0 && (op == '+' || op == '-') {
			l, err1 := m.value(x[:i], s)
			r, err2 := m.value(x[i+1:], s)
			if err1 != nil || err2 != nil {
				return 0, fmt.Errorf("%q", x)
			}
			if op == '-' {
				r = -r
			}
			return m.cut(l + r), nil
		}
	}
	switch x { // parts of registers that conditions are about
	case "ecx":
		if _, ok := m.i.Regs.Reg("rcx"); ok {
			v, err := m.value("rcx", s)
			return v & 0xffffffff, err
		}
	}
	if r, ok := m.i.Regs.Reg(x); ok {
		v, _ := s.Reg(r)
		return v, nil
	}
	if n, ok := strings.CutPrefix(x, "w"); ok { // the low half of a general register of A64
		if r, ok := m.i.Regs.Reg("x" + n); ok {
			v, _ := s.Reg(r)
			return v & 0xffffffff, nil
		}
	}
	return 0, fmt.Errorf("no register %q", x)
}
