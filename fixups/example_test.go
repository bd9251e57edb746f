package fixups_test

import (
	"errors"
	"fmt"

	"github.com/xol-go/xol/fixups"
)

// A call of amd64 was copied with its displacement left open. Place fills it in
// for a slot, or says by how much the slot is too far away.
func ExamplePlace() {
	plan := fixups.Plan{
		Form: fixups.FormJump, Strategy: fixups.StrategyReEncode, SiteLen: 5,
		Code: []byte{0xe8, 0, 0, 0, 0}, // call rel32 to Site + 0x105
		Relocs: []fixups.Reloc{{
			Off: 1, Size: 4, Bits: 32, Base: fixups.BaseSite, Addend: 0x105 - 4, PCRel: true, Check: fixups.CheckSigned,
		}},
		Reach: fixups.Reach{Min: 0x100 - (1<<31 - 1), Max: 0x100 + 1<<31},
	}
	code, err := fixups.Place(nil, &plan, fixups.Bases{Site: 0x401000, Slot: 0x400000})
	fmt.Printf("% x %v\n", code, err)

	_, err = fixups.Place(nil, &plan, fixups.Bases{Site: 0x401000, Slot: 0x7f0000000000})
	var reach *fixups.ReachError
	if errors.As(err, &reach) {
		fmt.Printf("%#x bytes too far\n", reach.Over)
	}
	// Output:
	// e8 00 11 00 00 <nil>
	// 0x7eff7fbfef00 bytes too far
}

// thread is a Machine with two registers and a few words of memory. Package
// fixups/linux has machines over real threads.
type thread struct {
	rip, rsp uint64
	mem      map[uint64]byte
}

const rsp = fixups.Reg(7)

func (t *thread) reg(r fixups.Reg) *uint64 {
	switch r {
	case fixups.RegPC:
		return &t.rip
	case rsp:
		return &t.rsp
	}
	return nil
}

func (t *thread) Reg(r fixups.Reg) (uint64, bool) {
	if p := t.reg(r); p != nil {
		return *p, true
	}
	return 0, false
}

func (t *thread) SetReg(r fixups.Reg, v uint64) bool {
	p := t.reg(r)
	if p != nil {
		*p = v
	}
	return p != nil
}

func (t *thread) Load(addr uint64, b []byte) bool {
	for i := range b {
		b[i] = t.mem[addr+uint64(i)]
	}
	return true
}

func (t *thread) Store(addr uint64, b []byte) bool {
	for i := range b {
		t.mem[addr+uint64(i)] = b[i]
	}
	return true
}

func (t *thread) ShadowPush(uint64) bool    { return true }
func (t *thread) ShadowPop() (uint64, bool) { return 0, false }

// The emulate program of a call: the return address is stored, and only when
// that has succeeded are rsp and pc written.
func ExampleRun() {
	regs := fixups.RegNames{{Num: rsp, Name: "rsp", Bits: 64}}
	program, err := fixups.ParseProgram([]string{
		"t0 = sub rsp, 0x8",
		"store8le t0, site+0x5",
		"shpush site+0x5",
		"rsp = mov t0",
		"pc = mov site+0x105",
	}, regs)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("all or nothing:", program.CheckEmulate() == nil)

	t := thread{rip: 0x401000, rsp: 0x8000, mem: map[uint64]byte{}}
	var temps fixups.Temps
	err = fixups.Run(program, &t, &fixups.Bases{Site: 0x401000}, &temps, 64)
	fmt.Printf("pc %#x, rsp %#x, pushed %x %x %x, %v\n", t.rip, t.rsp, t.mem[0x7ffa], t.mem[0x7ff9], t.mem[0x7ff8], err)
	// Output:
	// all or nothing: true
	// pc 0x401105, rsp 0x7ff8, pushed 40 10 5, <nil>
}

// A table is written once and used where it lies.
func ExampleOpenBinary() {
	table := fixups.Table{Arch: "amd64", File: "prog", Layout: fixups.Layout{Bits: 64}, Entries: []fixups.Entry{
		{PC: 0x1000, Len: 1, Bytes: []byte{0x90}, Class: fixups.ClassPlain, Func: "main"},
		{PC: 0x1001, Len: 2, Bytes: []byte{0xeb, 0x10}, Class: fixups.ClassBranch, HasTarget: true, Target: 0x1013, Func: "main", At: 1},
	}}
	data, err := table.AppendBinary(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := fixups.OpenBinary(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	var e fixups.Entry
	if ref, ok := view.Find(0x1001); ok {
		view.Entry(ref, &e)
		fmt.Printf("%s+%d: %v to %#x\n", e.Func, e.At, e.Class, e.Target)
	}
	// Output:
	// main+1: branch to 0x1013
}

func ExampleParseStep() {
	regs := fixups.RegNames{{Num: 0, Name: "rax", Bits: 64}}
	step, err := fixups.ParseStep("rax = add rax, 8", regs)
	fmt.Println(step.Format(regs), err)
	_, err = fixups.ParseStep("rax = add rbx, 8", regs)
	fmt.Println(err)
	// Output:
	// rax = add rax, 0x8 <nil>
	// fixups: "rax = add rbx, 8": column 11: unknown name "rbx"
}
