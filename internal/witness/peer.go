package witness

import (
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/xol-go/xol/internal/testenv"
)

// Peer is Zydis against the clock, over functions it was given once.
type Peer struct{ w *Witness }

// Pass is what a Peer does with every function.
type Pass byte

// The passes.
const (
	PassMinimal  Pass = 'm' // decode in minimal mode: lengths and validity
	PassEncode   Pass = 'e' // decode in full and encode every instruction again
	PassRelative Pass = 'r' // decode in full, encode those with a relative operand
)

// NewPeer starts the peer, or ends the test as [testenv.Missing] does. The code
// of each function is 64-bit.
func NewPeer(t testing.TB, funcs [][]byte) *Peer {
	t.Helper()
	if _, err := os.Stat("/usr/include/Zydis/Zydis.h"); err != nil {
		testenv.Missing(t, "libzydis-dev")
	}
	p := &Peer{start(t, "zydis_bench", build(t, "zydis_bench", "-lZydis"))}
	buf := binary.NativeEndian.AppendUint32(nil, uint32(len(funcs)))
	for _, f := range funcs {
		buf = append(binary.NativeEndian.AppendUint32(buf, uint32(len(f))), f...)
	}
	if _, err := p.w.in.Write(buf); err != nil {
		t.Fatal(err)
	}
	return p
}

// Run makes one pass and returns its time on the processor and the number of
// instructions.
func (p *Peer) Run(t testing.TB, pass Pass) (time.Duration, int) {
	t.Helper()
	if _, err := p.w.in.Write([]byte{byte(pass)}); err != nil {
		t.Fatal(err)
	}
	var buf [24]byte
	b, err := p.w.record(buf[:])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(binary.NativeEndian.Uint64(b)), int(binary.NativeEndian.Uint64(b[8:]))
}
