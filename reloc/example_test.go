package reloc_test

import (
	"fmt"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// A conditional branch is moved into a slot near by, or the reason is given why
// it cannot be.
func ExampleRelocate() {
	env := reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}
	var plan reloc.Plan // reuse it

	je := []byte{0x74, 0x10} // je 0x401012
	if err := reloc.Relocate(&plan, x86.AMD64, je, 0x401000, &env); err != nil {
		fmt.Println(err)
		return
	}
	code, err := fixups.Place(nil, &plan, fixups.Bases{Site: 0x401000, Slot: 0x500000})
	fmt.Printf("%v: % x %v\n", plan.Strategy, code, err)

	sysenter := []byte{0x0f, 0x34}
	fmt.Println(reloc.Relocate(&plan, x86.AMD64, sysenter, 0x401000, &env))
	// Output:
	// re-encode: 0f 84 0c 10 f0 ff e9 f7 0f f0 ff <nil>
	// privileged
}

// All that is known of one site, with a verdict for each form.
func ExampleDescribe() {
	var e fixups.Entry // reuse it
	call := []byte{0xe8, 0x00, 0x01, 0x00, 0x00}
	env := reloc.Env{Slots: reloc.SlotsNear, SHSTK: reloc.Off}
	if err := reloc.Describe(&e, x86.AMD64, call, 0x401000, &env, false); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v to %#x, %d bytes\n", e.Class, e.Target, e.Len)
	for h := range e.Hazards.All() {
		fmt.Println("hazard", h)
	}
	for i := range e.Forms {
		fmt.Println(e.Forms[i].Form, "by", e.Forms[i].Plan.Strategy)
	}
	// Output:
	// call to 0x401105, 5 bytes
	// hazard pushes-pc
	// emulate by emulate
	// jump by literal
	// step by re-encode
}

// A signal finds a thread behind the copied load, in front of the jump back.
func ExampleResume() {
	env := reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}
	load := []byte{0x48, 0x8b, 0x05, 0x10, 0, 0, 0} // mov rax, [rip+0x10]
	var plan reloc.Plan
	if err := reloc.Relocate(&plan, x86.AMD64, load, 0x401000, &env); err != nil {
		fmt.Println(err)
		return
	}
	const slot = 0x500000
	r, ok := reloc.Resume(&plan, slot+7, slot, reloc.Signal)
	fmt.Println(ok, r.Point.State, r.Program.Format(x86.AMD64.Info().Regs))

	_, ok = reloc.Resume(&plan, slot+3, slot, reloc.Signal)
	fmt.Println(ok, "inside an instruction")
	// Output:
	// true done [pc = mov site+0x7]
	// false inside an instruction
}
