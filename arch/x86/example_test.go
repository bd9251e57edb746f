package x86_test

import (
	"fmt"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/reloc"
)

// Decode classifies one instruction after another, and refuses what no row of
// the tables covers.
func Example() {
	code := []byte{
		0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, // lea rdi, [rip+0x10]
		0xff, 0xd0, // call rax
		0x06, // push es, which 64-bit mode does not have
	}
	var in reloc.Insn
	for pc := uint64(0x1000); len(code) > 0; pc = in.Next() {
		if err := x86.AMD64.Decode(&in, code, pc); err != nil {
			fmt.Printf("%#x: %v\n", pc, err)
			return
		}
		fmt.Printf("%#x: %d bytes, %v\n", pc, in.Len, in.Class)
		code = code[in.Len:]
	}
	// Output:
	// 0x1000: 7 bytes, pc-relative
	// 0x1007: 2 bytes, indirect-call
	// 0x1009: reserved
}

// Registers are computed on demand, implicit ones included.
func ExampleArch_Registers() {
	var in reloc.Insn
	mul := []byte{0x48, 0xf7, 0xe3} // mul rbx
	if err := x86.AMD64.Decode(&in, mul, 0x1000); err != nil {
		fmt.Println(err)
		return
	}
	var use reloc.RegUse
	x86.AMD64.Registers(&use, &in)
	names := x86.AMD64.Info().Regs
	for r := range use.Reads.All() {
		fmt.Println("reads", names.Name(r))
	}
	for r := range use.Writes.All() {
		fmt.Println("writes", names.Name(r))
	}
	// Output:
	// reads rax
	// reads rbx
	// writes rax
	// writes rdx
	// writes flags
}

// A row of the tables says where the manual says so.
func ExampleArch_RowOf() {
	var in reloc.Insn
	if err := x86.AMD64.Decode(&in, []byte{0xf3, 0x0f, 0x1e, 0xfa}, 0x1000); err != nil {
		fmt.Println(err)
		return
	}
	row, _ := x86.AMD64.RowOf(&in)
	fmt.Println(row.Name, row.Class)
	// Output: endbr64 plain
}
