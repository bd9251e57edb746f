package x86_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

// TestSweepOpcodes goes through every opcode of every map in both modes: all
// ModRM bytes, the SIB bytes that change the length, and the prefixes and prefix
// fields that change meaning. XOL_SWEEP takes all of it, else a random part
// whose seed is printed; XOL_SEED repeats one, XOL_THIN sets how many probes one
// stands for.
func TestSweepOpcodes(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("sweeps are long")
	}
	g := newGenerator(t)
	for _, bits := range []int{64, 32} {
		g.bits = bits
		for _, part := range []func(){g.legacy, g.now, g.rex2, g.vex, g.xop, g.evex} {
			part()
		}
	}
	g.s.report(g.thin == 1)
}

// thinning is how many probes of a whole sweep one probe of a short one stands
// for.
const thinning = 60

// generator makes probes.
type generator struct {
	s    *sweeper
	bits int
	rnd  *rand.Rand
	skip int // probes to leave out until the next one
	thin int
	code [16]byte
}

func newGenerator(t *testing.T) *generator {
	t.Helper()
	seed := testenv.Seed(t)
	g := &generator{s: newSweeper(t), rnd: rand.New(rand.NewPCG(seed, 0)), thin: thinning}
	switch v := os.Getenv("XOL_THIN"); {
	case v != "":
		g.thin = max(atoi(t, v), 1)
	case full():
		g.thin = 1
	}
	g.s.register = newRegisterSweep(t)
	return g
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// put sets bytes from offset at on and returns the offset behind them.
func (g *generator) put(at int, b ...byte) int { return at + copy(g.code[at:], b) }

// emit adds a probe whose first n bytes are set; the rest is random, so that
// displacements and immediates show where they are.
func (g *generator) emit(n int) {
	if g.skip > 0 {
		g.skip--
		return
	}
	if g.thin > 1 {
		g.skip = g.rnd.IntN(2*g.thin - 1)
	}
	c := g.code
	tail := g.rnd.Uint64()
	for i := n; i < len(c); i++ {
		c[i] = byte(tail)
		tail = tail>>8 | tail<<56
	}
	g.s.add(g.bits, &c, 15)
}

// sibs are the SIB bytes that change the length of the instruction or what may
// be an index: bases 101 and others, index 100 and others.
var sibs = []byte{0x00, 0x05, 0x25, 0x24, 0x65, 0xe0, 0x91}

// modRM emits every ModRM byte at offset at, with the SIB bytes where there is
// one.
func (g *generator) modRM(at int) {
	for m := range 256 {
		g.code[at] = byte(m)
		if m>>6 != 3 && m&7 == 4 {
			for _, sib := range sibs {
				g.code[at+1] = sib
				g.emit(at + 2)
			}
			continue
		}
		g.emit(at + 1)
	}
}

// fewModRM emits one ModRM byte for each kind of operand, with a random reg.
func (g *generator) fewModRM(at int) {
	reg := byte(g.rnd.Uint32()) & 0x38
	for _, m := range []byte{0x01, 0x05, 0x42, 0x83, 0xc1, 0xc6} {
		g.code[at] = m | reg
		g.emit(at + 1)
	}
	g.code[at], g.code[at+1] = 0x04|reg, 0x91
	g.emit(at + 2)
}

var legacyPrefixes = [][]byte{
	{}, {0x66}, {0xf2}, {0xf3}, {0x67}, {0xf0}, {0x2e}, {0x64},
	{0x66, 0xf2}, {0xf3, 0x66}, {0xf2, 0xf3}, {0xf3, 0xf2}, {0x66, 0x67}, {0x66, 0xf0}, {0xf0, 0xf2}, {0xf3, 0xf0}, {0x3e, 0x66},
}

var rexes = [][]byte{{}, {0x40}, {0x41}, {0x48}, {0x4f}, {0x44}, {0x42}, {0x48, 0x40}}

// legacy is the maps that escape bytes choose.
func (g *generator) legacy() {
	for _, pre := range legacyPrefixes {
		for _, rex := range rexes {
			if len(rex) > 0 && g.bits == 32 {
				continue
			}
			at := g.put(g.put(0, pre...), rex...)
			for _, escape := range [][]byte{{}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}} {
				at := g.put(at, escape...)
				for op := range 256 {
					if skipsOpcode(g.bits, len(escape), byte(op)) {
						continue
					}
					g.code[at] = byte(op)
					g.modRM(at + 1)
				}
			}
		}
	}
	// A REX that other prefixes follow is ignored.
	for op := range 256 {
		for _, c := range [][]byte{{0x48, 0x66, byte(op)}, {0x4f, 0xf3, 0x0f, byte(op)}, {0x41, 0x67, byte(op)}} {
			g.modRM(g.put(0, c...))
		}
	}
}

// skipsOpcode reports what other parts of the sweep go through: escape bytes and
// prefixes.
func skipsOpcode(bits, escapes int, op byte) bool {
	switch escapes {
	case 0:
		switch {
		case op == 0x0f, prefixBits[op] != 0, bits == 64 && op&0xf0 == 0x40:
			return true
		}
		return bits == 64 && (op == 0xc4 || op == 0xc5 || op == 0x62 || op == 0xd5)
	case 1:
		return op == 0x38 || op == 0x3a || op == 0x0f
	}
	return false
}

// now is 3DNow!, whose opcode is the last byte.
func (g *generator) now() {
	for _, pre := range [][]byte{{}, {0x66}, {0xf3}, {0xf0}, {0x67}} {
		for op := range 256 {
			for m := range 256 {
				at := g.put(g.put(0, pre...), 0x0f, 0x0f, byte(m))
				switch disp := []int{0, 1, 4, 0}[m>>6]; {
				case len(pre) > 0 && pre[0] == 0x67 && g.bits == 32: // 16-bit addresses: whatever comes
				case m>>6 != 3 && m&7 == 4:
					at = g.put(at, 0x91)
					fallthrough
				default:
					if m&0xc7 == 5 {
						disp = 4
					}
					at = g.put(at, []byte{1, 2, 3, 4}[:disp]...)
				}
				g.emit(g.put(at, byte(op)))
			}
		}
	}
}

// rex2 is D5 in 64-bit mode; in 32-bit mode it is an opcode.
func (g *generator) rex2() {
	if g.bits == 32 {
		return
	}
	for _, pre := range [][]byte{{}, {0x66}, {0xf2}, {0xf3}, {0x67}, {0xf0}, {0x64}, {0x48}} {
		for _, payload := range []byte{0x00, 0x08, 0x10, 0x77, 0x25, 0x52} {
			for m := range byte(2) {
				at := g.put(g.put(0, pre...), 0xd5, payload|m<<7)
				for op := range 256 {
					g.code[at] = byte(op)
					g.modRM(at + 1)
				}
			}
		}
	}
}

var vexPrefixes = [][]byte{{}, {0x67}, {0x64}, {0x66}, {0xf3}, {0xf0}, {0x48}}

// vex goes through the maps 0 to 3, 5 and 7 in whole and through the others with
// few ModRM bytes.
func (g *generator) vex() {
	for pi, pre := range vexPrefixes {
		for m := range byte(32) {
			if pi > 0 && m >= 8 {
				break
			}
			for _, rxb := range []byte{7, 3, 0, 6, 5} {
				if g.bits == 32 && rxb < 6 {
					continue // LES
				}
				at := g.put(g.put(0, pre...), 0xc4, rxb<<5|m)
				g.vexPayload(at, pi == 0 && rxb == 7 && (m < 4 || m == 5 || m == 7))
			}
		}
		for _, r := range []byte{0x80, 0} {
			if g.bits == 32 && r == 0 {
				continue // LDS
			}
			at := g.put(g.put(0, pre...), 0xc5)
			g.vex2Payload(at, r)
		}
	}
}

// vexPayload goes through W, vvvv, L and pp, and the opcodes behind.
func (g *generator) vexPayload(at int, whole bool) {
	for low := range byte(8) { // L pp
		for _, v := range []byte{15, 13, 7, 0} {
			for _, w := range []byte{0, 0x80} {
				g.code[at] = w | v<<3 | low
				for op := range 256 {
					g.code[at+1] = byte(op)
					if whole {
						g.modRM(at + 2)
					} else {
						g.fewModRM(at + 2)
					}
				}
			}
		}
	}
}

func (g *generator) vex2Payload(at int, r byte) {
	for low := range byte(8) {
		for _, v := range []byte{15, 2} {
			g.code[at] = r | v<<3 | low
			for op := range 256 {
				g.code[at+1] = byte(op)
				g.fewModRM(at + 2)
			}
		}
	}
}

// xop is 8F with a map above 7.
func (g *generator) xop() {
	for pi, pre := range vexPrefixes {
		for m := byte(8); m < 16; m++ {
			for _, rxb := range []byte{7, 0} {
				at := g.put(g.put(0, pre...), 0x8f, rxb<<5|m)
				g.vexPayload(at, pi == 0 && rxb == 7 && m < 11)
			}
		}
	}
}

// evex goes through the maps with all fields of the prefix; through all ModRM
// bytes only where no field is unusual.
func (g *generator) evex() {
	for m := range byte(8) {
		for _, p0 := range []byte{0xf0, 0x70, 0x90, 0xe0, 0xb0, 0xd0, 0xf8, 0x00} {
			if g.bits == 32 && p0 < 0xc0 {
				continue // BOUND
			}
			for pp := range byte(4) {
				for _, wv := range []byte{0x78, 0xf8, 0x68, 0xe8, 0x38} { // W and vvvv
					at := g.put(0, 0x62, p0|m, wv|4|pp)
					g.evexPayload(at, p0 == 0xf0 && wv&0x78 == 0x78)
				}
				at := g.put(0, 0x62, p0|m, 0x78|pp) // X4
				g.evexPayload(at, false)
			}
		}
	}
	for _, pre := range vexPrefixes[1:] {
		for m := range byte(8) {
			for pp := range byte(4) {
				at := g.put(g.put(0, pre...), 0x62, 0xf0|m, 0x7c|pp)
				g.evexPayload(at, false)
			}
		}
	}
}

// evexPayload goes through z, L'L, b, V' and aaa, and the opcodes behind.
func (g *generator) evexPayload(at int, common bool) {
	for high := range byte(16) { // z L'L b
		for _, low := range []byte{8, 9, 0, 12, 10} { // V' aaa
			g.code[at] = high<<4 | low
			usual := common && high < 3 && low == 8
			if !common && low > 9 {
				continue
			}
			for op := range 256 {
				g.code[at+1] = byte(op)
				if usual {
					g.modRM(at + 2)
				} else {
					g.fewModRM(at + 2)
				}
			}
		}
	}
}
