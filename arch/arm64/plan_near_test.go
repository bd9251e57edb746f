package arm64

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

// bases are words of families that plans are made for in one go, and of some that
// are left, with the bits that may be anything.
var bases = []struct{ word, free uint32 }{
	{0x91000000, 0x007fffff}, // add
	{0xd503201f, 0},          // nop
	{0xd503241f, 0xc0},       // bti
	{0xf9400000, 0x003fffff}, // ldr
	{0x14000000, 0x03ffffff},
	{0x94000000, 0x03ffffff},
	{0x54000000, 0x00ffffff},
	{0x34000000, 0x81ffffff},
	{0x36000000, 0x81ffffff},
	{0x10000000, 0x60ffffff},
	{0x90000000, 0x60ffffff},
	{0x58000000, 0x00ffffff},
	{0xd4000001, 0x001fffe0},
}

func randomWord(rnd *rand.Rand) []byte {
	b := bases[rnd.IntN(len(bases))]
	return binary.LittleEndian.AppendUint32(nil, b.word|rnd.Uint32()&b.free)
}

// TestNearJump: what is made in one go is what the families make.
func TestNearJump(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	made := map[family]int{}
	var fast, slow reloc.Plan
	for range 50_000 {
		var in reloc.Insn
		if A64.Decode(&in, randomWord(rnd), rnd.Uint64()&^3) != nil {
			continue
		}
		env := reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear, Spill: rnd.IntN(2) == 0, Mode: reloc.Mode(rnd.IntN(2))}
		if rnd.IntN(2) == 0 {
			env.Dead = deadIP
		}
		env.BTI, env.GCS = reloc.Switch(rnd.IntN(3)), reloc.Switch(rnd.IntN(3))
		if !nearJump(&fast, &in, &env) {
			continue
		}
		made[familyOf(&in)]++
		hazards := in.Hazards
		b := planner{p: &slow, in: &in, env: &env, a: A64, w: uint32(in.Ext[0])}
		if r := b.form(fixups.FormJump); r != fixups.ReasonNone || !fast.Equal(&slow) || in.Hazards != hazards {
			t.Fatalf("% x at %#x: %v\n%+v\n%+v", in.Raw(), in.PC, r, fast, slow)
		}
	}
	for _, f := range []family{famPlain, famNop, famBTI, famB, famBCond, famCBZ, famTBZ, famADRP, famBL} {
		if made[f] == 0 {
			t.Errorf("family %d was never made", f)
		}
	}
}

// TestNoAllocs: making a plan again needs no memory, refusals included.
func TestNoAllocs(t *testing.T) {
	var p reloc.Plan
	dst := make([]byte, 0, 256)
	for _, env := range []reloc.Env{{Slots: reloc.SlotsNear}, {}, {Dead: three, AllowLost: true}, {Slots: reloc.SlotsNear, Spill: true, Return: fixups.ReturnsSlot}, {ABI: reloc.ABICall, ExecuteOnly: true}} {
		for _, f := range reloc.Order {
			env.Forms = f.Bit()
			for _, tt := range jumpCode {
				var in reloc.Insn
				if err := A64.Decode(&in, unhex(t, tt.site), testSite); err != nil {
					t.Fatal(err)
				}
				at := fixups.Bases{Site: testSite, Slot: testNear}
				if n := testing.AllocsPerRun(3, func() {
					if A64.Plan(&p, &in, &env) == nil {
						dst, _ = fixups.Place(dst[:0], &p, at)
					}
				}); n != 0 {
					t.Errorf("%s, %v: %v allocations", tt.name, f, n)
				}
			}
		}
	}
}
