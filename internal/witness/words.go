package witness

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

// Words is LLVM 19 as the decoder of an instruction set of words.
type Words struct{ w *Witness }

// Word is what it says of eight bytes of code.
type Word struct {
	Len  int    // bytes of the instruction, 0 if there is none
	Text string // mnemonic and operands, one blank between
}

// NewWords starts the witness for a triple, a processor and features of LLVM, or
// ends the test as [testenv.Missing] does.
func NewWords(t testing.TB, triple, cpu, features string) *Words {
	t.Helper()
	for _, pattern := range llvmLibraries {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return &Words{start(t, "words", build(t, "words", "-ldl"), found[0], triple, cpu, features)}
		}
	}
	testenv.Missing(t, "libllvm19")
	return nil
}

// Check asks about all of code; dst is as long.
func (w *Words) Check(dst []Word, code [][8]byte) error {
	sent := make(chan error, 1)
	go func() {
		buf := binary.NativeEndian.AppendUint32(nil, uint32(len(code)))
		for i := range code {
			buf = append(buf, code[i][:]...)
		}
		_, err := w.w.in.Write(buf)
		sent <- err
	}()
	var buf [textSize]byte
	for i := range dst {
		b, err := w.w.record(buf[:])
		if err != nil {
			return fmt.Errorf("words: %w", err)
		}
		dst[i] = Word{Len: int(b[0]), Text: strings.Join(strings.Fields(cString(b[1:])), " ")}
	}
	return <-sent
}
