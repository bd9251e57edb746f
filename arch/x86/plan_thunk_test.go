package x86

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Calls that leave a return address in the slot leave the site's where the callee
// is seen to read it.
func TestThunks(t *testing.T) {
	const site = 0x8049000
	for _, tt := range []struct {
		callee   string
		original bool
	}{
		{"8b1c24c3", true},         // mov ebx,[esp]; ret
		{"8b0424c3", true},         // mov eax,[esp]; ret
		{"8b442400c3", true},       // mov eax,[esp+0]; ret
		{"f30f1efb8b0c24c3", true}, // endbr32; mov ecx,[esp]; ret
		{"5bc3", true},             // pop ebx
		{"8f00", true},             // pop [eax]
		{"83042405", true},         // add dword [esp],5
		{"871c24", true},           // xchg [esp],ebx
		{"ff0424", true},           // inc dword [esp]
		{"ff3424", true},           // push dword [esp]
		{"033424", true},           // add esi,[esp]
		{"eb025bc38b0c24", true},   // jmp +2 to mov ecx,[esp]
		{"8b442404c3", false},      // mov eax,[esp+4]; ret
		{"8b0404c3", false},        // mov eax,[esp+eax]; ret
		{"8b03c3", false},          // mov eax,[ebx]
		{"5589e5", false},          // push ebp; mov ebp,esp
		{"83c404", false},          // add esp,4
		{"893424", false},          // mov [esp],esi
		{"c3", false},              // ret
		{"ebfe", false},            // jmp to itself
		{"", false},                // not known
	} {
		for _, f := range []fixups.Form{fixups.FormJump, fixups.FormStep} {
			for _, a := range []*Arch{I386, AMD64} {
				text := append(unhex(t, "e8fb000000"), make([]byte, 0xfb)...)
				text = append(text, unhex(t, tt.callee)...)
				env := reloc.Env{Forms: f.Bit(), Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot, Code: &reloc.Text{Addr: site, Data: text}}
				var p reloc.Plan
				if err := reloc.Relocate(&p, a, text, site, &env); err != nil {
					t.Fatalf("%s %s: %v", a.info.Name, tt.callee, err)
				}
				want := fixups.ReturnsSlot
				if tt.original {
					want = fixups.ReturnsOriginal
				}
				if p.Returns != want || (len(p.Escapes) != 0) == tt.original {
					t.Errorf("%s %v of a call to %s: returns %v, %d escapes", a.info.Name, f, tt.callee, p.Returns, len(p.Escapes))
				}
				env.Code = nil
				if err := reloc.Relocate(&p, a, text, site, &env); err != nil || p.Returns != fixups.ReturnsSlot {
					t.Errorf("a call to an unknown callee: %v, %v", p.Returns, err)
				}
			}
		}
	}
}
