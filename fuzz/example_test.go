package fuzz_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fuzz"
	"github.com/xol-go/xol/reloc"
)

// Most of what is made begins with an instruction; the rest is damaged.
func ExampleAppendInsn() {
	rnd := rand.New(rand.NewPCG(1, 2))
	var code []byte
	var in reloc.Insn
	decoded := 0
	for range 1000 {
		code = fuzz.AppendInsn(code[:0], x86.AMD64, rnd.Uint64)
		if x86.AMD64.Decode(&in, code, 0x1000) == nil {
			decoded++
		}
	}
	fmt.Println(decoded > 600, decoded < 1000)
	// Output: true true
}
