package arch_test

import (
	"debug/elf"
	"fmt"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/reloc"
)

func ExampleByName() {
	a, ok := arch.ByName("amd64")
	if !ok {
		fmt.Println("no port")
		return
	}
	var in reloc.Insn
	if err := a.Decode(&in, []byte{0xeb, 0x0e}, 0x1000); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v to %#x\n", in.Class, in.Target)
	// Output: branch to 0x1010
}

func ExampleByELF() {
	a, ok := arch.ByELF(elf.EM_386, false)
	fmt.Println(a.Info().Name, ok)
	// Output: 386 true
}
