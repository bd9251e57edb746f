package unicorn

import (
	"testing"

	uc "github.com/unicorn-engine/unicorn/bindings/go/unicorn"
)

// TestBinding proves that the binding and the installed library fit each
// other before anything is judged with them: an engine opens, runs one
// instruction, and shows its result.
func TestBinding(t *testing.T) {
	const code = 0x1000
	mu, err := uc.NewUnicorn(uc.ARCH_X86, uc.MODE_32)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer mu.Close()

	insn := []byte{0x40} // inc eax
	if err := mu.MemMap(code, 0x1000); err != nil {
		t.Fatalf("map: %v", err)
	}
	if err := mu.MemWrite(code, insn); err != nil {
		t.Fatalf("write: %v", err)
	}
	if err := mu.RegWrite(uc.X86_REG_EAX, 0x7fffffff); err != nil {
		t.Fatalf("set eax: %v", err)
	}
	if err := mu.Start(code, code+uint64(len(insn))); err != nil {
		t.Fatalf("run: %v", err)
	}
	got, err := mu.RegRead(uc.X86_REG_EAX)
	if err != nil {
		t.Fatalf("read eax: %v", err)
	}
	if got != 0x80000000 {
		t.Errorf("eax = %#x after inc of 0x7fffffff, want 0x80000000", got)
	}
}
