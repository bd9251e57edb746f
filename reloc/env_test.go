package reloc_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest/toy"
)

// The System V red zone of amd64 is 128 bytes, which Linux and Darwin spare when
// they deliver a signal. Go's compiler does not use it. Windows has none, and
// interrupts in kernel mode spare nothing. No ABI of 386 has one.
func TestZoneOf(t *testing.T) {
	for _, tt := range []struct {
		arch       reloc.Arch
		env        reloc.Env
		zone, kept int
	}{
		{x86.AMD64, reloc.Env{}, 128, 128},
		{x86.AMD64, reloc.Env{Lang: reloc.LangGo}, 0, 128},
		{x86.AMD64, reloc.Env{OS: reloc.Darwin}, 128, 128},
		{x86.AMD64, reloc.Env{OS: reloc.Darwin, Lang: reloc.LangGo}, 0, 128},
		{x86.AMD64, reloc.Env{OS: reloc.Windows}, 0, 0},
		{x86.AMD64, reloc.Env{OS: reloc.Windows, Lang: reloc.LangGo}, 0, 0},
		{x86.AMD64, reloc.Env{Mode: reloc.ModeKernel}, 0, 0},
		{x86.AMD64, reloc.Env{Mode: reloc.ModeKernel, Lang: reloc.LangGo}, 0, 0},
		{x86.I386, reloc.Env{}, 0, 0},
		{x86.I386, reloc.Env{Mode: reloc.ModeKernel}, 0, 0},
		{toy.Toy, reloc.Env{}, 0, 0},

		// What the caller states wins; less cannot be kept than is used.
		{x86.AMD64, reloc.Env{Zone: reloc.Bytes{N: 16, Set: true}}, 16, 128},
		{x86.AMD64, reloc.Env{Zone: reloc.Bytes{N: 0, Set: true}}, 0, 128},
		{x86.AMD64, reloc.Env{Zone: reloc.Bytes{N: 256, Set: true}}, 256, 256},
		{x86.AMD64, reloc.Env{Kept: reloc.Bytes{N: 512, Set: true}}, 128, 512},
		{x86.AMD64, reloc.Env{Kept: reloc.Bytes{N: 0, Set: true}}, 128, 128},
		{x86.AMD64, reloc.Env{Zone: reloc.Bytes{N: 32}, Kept: reloc.Bytes{N: 32}}, 128, 128}, // not Set
		{x86.I386, reloc.Env{Zone: reloc.Bytes{N: 64, Set: true}}, 64, 64},
	} {
		zone, kept := tt.env.ZoneOf(tt.arch.Info())
		if zone != tt.zone || kept != tt.kept {
			t.Errorf("%s, %+v: zone %d, kept %d, want %d, %d", tt.arch.Info().Name, tt.env, zone, kept, tt.zone, tt.kept)
		}
	}
}

func TestText(t *testing.T) {
	low := &reloc.Text{Addr: 0x1000, Data: []byte{1, 2, 3}}
	top := &reloc.Text{Addr: 1<<64 - 2, Data: []byte{4, 5}}
	for _, tt := range []struct {
		text *reloc.Text
		addr uint64
		want []byte
	}{
		{low, 0xfff, nil},
		{low, 0x1000, []byte{1, 2, 3}},
		{low, 0x1002, []byte{3}},
		{low, 0x1003, nil},
		{low, 0, nil},
		{low, 1<<64 - 1, nil},
		{top, 1<<64 - 1, []byte{5}},
		{top, 0, nil},
		{top, 1<<64 - 3, nil},
		{&reloc.Text{}, 0, nil},
	} {
		if got := tt.text.Bytes(tt.addr); string(got) != string(tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("text at %#x, bytes at %#x: % x, want % x", tt.text.Addr, tt.addr, got, tt.want)
		}
	}
}

func TestOrderOfInfo(t *testing.T) {
	big := reloc.Info{BigEndian: true, InsnOrder: fixups.LittleEndian} // as big-endian A64 is
	for _, tt := range []struct {
		info *reloc.Info
		data reloc.DataOrder
		want fixups.Placing
	}{
		{x86.AMD64.Info(), reloc.DataDefault, fixups.Placing{Insn: fixups.LittleEndian, Data: fixups.LittleEndian}},
		{x86.AMD64.Info(), reloc.DataBig, fixups.Placing{Insn: fixups.LittleEndian, Data: fixups.BigEndian}},
		{&big, reloc.DataDefault, fixups.Placing{Insn: fixups.LittleEndian, Data: fixups.BigEndian}},
		{&big, reloc.DataLittle, fixups.Placing{Insn: fixups.LittleEndian, Data: fixups.LittleEndian}},
	} {
		if got := tt.info.Order(tt.data); got != tt.want {
			t.Errorf("big-endian %v, data order %d: %+v, want %+v", tt.info.BigEndian, tt.data, got, tt.want)
		}
	}
}

func TestReasonOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want fixups.Reason
	}{
		{nil, fixups.ReasonNone},
		{fixups.ReasonTruncated, fixups.ReasonTruncated},
		{fixups.ReasonUnknown, fixups.ReasonUnknown},
		{errors.New("another"), fixups.ReasonUnknown},
		{fmt.Errorf("at 0x1000: %w", fixups.ReasonVendor), fixups.ReasonVendor},
	} {
		if got := reloc.ReasonOf(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestFirstForm(t *testing.T) {
	const ok = fixups.ReasonNone
	for _, tt := range []struct {
		name    string
		forms   fixups.Forms
		answers map[fixups.Form]fixups.Reason
		tried   string
		want    fixups.Reason
	}{
		{"the first that works", 0, map[fixups.Form]fixups.Reason{fixups.FormEmulate: fixups.ReasonNotEmulated, fixups.FormJump: ok},
			"[emulate jump]", ok},
		{"the reason of the last", 0, map[fixups.Form]fixups.Reason{
			fixups.FormEmulate: fixups.ReasonNotEmulated, fixups.FormJump: fixups.ReasonNoScratch, fixups.FormStep: fixups.ReasonAdjacent},
			"[emulate jump step]", fixups.ReasonAdjacent},
		{"only what is asked for", fixups.FormStep.Bit(), map[fixups.Form]fixups.Reason{fixups.FormStep: ok}, "[step]", ok},
		{"nothing that a port plans", fixups.FormRegion.Bit(), nil, "[]", fixups.ReasonUnknown},
	} {
		var p reloc.Plan
		var tried []fixups.Form
		err := reloc.FirstForm(&p, &reloc.Env{Forms: tt.forms}, func(f fixups.Form) fixups.Reason {
			if len(p.Code) != 0 || p.Form != f {
				t.Errorf("%s: %v begins with code % x and form %v", tt.name, f, p.Code, p.Form)
			}
			tried = append(tried, f)
			p.Code = append(p.Code, byte(f))
			return tt.answers[f]
		})
		if got := fmt.Sprint(tried); got != tt.tried {
			t.Errorf("%s: tried %v, want %v", tt.name, got, tt.tried)
		}
		switch {
		case tt.want == ok && (err != nil || len(p.Code) != 1):
			t.Errorf("%s: %v, code % x", tt.name, err, p.Code)
		case tt.want != ok && (!errors.Is(err, tt.want) || len(p.Code) != 0):
			t.Errorf("%s: %v, code % x, want %v and nothing", tt.name, err, p.Code, tt.want)
		}
	}
}
