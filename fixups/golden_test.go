package fixups

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files of testdata")

// goldenTable has one of each thing that a table can say. It is written out by
// hand so that the files do not depend on a random generator.
func goldenTable() *Table {
	t := &Table{Arch: "amd64", File: "prog", BuildID: "00ff", Base: 0x400000, Gaps: []Range{{Addr: 0x401010, Size: 16}},
		Layout: Layout{Bits: 64, Align: 1, Placing: Placing{Data: BigEndian}}}
	add := func(e Entry) {
		e.Func, e.At, e.InFile, e.Offset = "main", e.PC-0x401000, true, e.PC-0x400000
		t.Entries = append(t.Entries, e)
	}
	add(plainEntry(0x401000, 0x48, 0x89, 0xc3))
	add(branch(0x401003, 0x1000))
	add(plainEntry(0x401008, 0x48, 0x89, 0xd8))
	e := Entry{PC: 0x40100b, Len: 3, AltLen: 2, Bytes: []byte{0xf3, 0xa4, 0}, Class: ClassPCRelative, Hazards: HazardRepeats.Bit() | HazardVendor.Bit(),
		Reads: MakeRegSet(0, 7), Writes: MakeRegSet(200), Kills: MakeRegSet(49)}
	all := Plan{Form: FormJump, Strategy: StrategySpill, Tail: TailTrap, Stop: StopTrap, IsCall: true, Returns: ReturnsSlot, Private: true, X87: true, Alias: true,
		SiteLen: 3, SlotAlign: 64, Stack: 16, CopyLen: 3, Clobbers: MakeRegSet(1), Lost: MakeRegSet(0), Needs: NeedsVector | NeedsSegmentBase | NeedsShadowStack,
		Reach: Reach{Min: -1 << 20, Max: 1 << 20, Align: 65536, Residue: 4}, Code: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9},
		Relocs:  []Reloc{{Addend: -3, Off: 1, Index: 2, Size: 8, Lsb: 5, Bits: 19, Shift: 12, Page: 12, Base: BaseInsn, Check: CheckWrap, Order: OrderData, PCRel: true}},
		Escapes: []Escape{{Off: 3, Kind: EscapeReturn}, {Off: 9, Kind: EscapeContext}},
		Points: []Point{{HasBack: true}, {Off: 3, State: StatePart, HasForward: true, Lost: MakeRegSet(0),
			Forward: Program{{Op: OpShPop, Dst: T(0), A: Const(-1)}, {Op: OpMov, Dst: PC(), A: SitePlus(3)}}}, {Off: 9, State: StateDone}}}
	e.Forms = []Verdict{{Form: FormJump, Plan: all}, {Form: FormJump, Far: true, Reason: ReasonNoScratch}, {Form: FormStep, Far: true, Plan: goldenStep()}}
	add(e)
	t.Entries = append(t.Entries, Entry{PC: 0x401020, Len: 2, Bytes: []byte{0x0f, 0x0a}, Reason: ReasonReserved})
	return t
}

// goldenStep has one of each operation.
func goldenStep() Plan {
	return Plan{Form: FormStep, Strategy: StrategyCopy, Far: true, SiteLen: 3, Code: []byte{0xf3, 0xa4, 0, 0xcc}, CopyLen: 3, Tail: TailTrap, Reach: AnyReach(),
		Pre: Program{{Op: OpMov, Dst: T(0), A: R(0)}, {Op: OpLoad, Size: 2, Order: BigEndian, Dst: T(1), A: DataPlus(8)}, {Op: OpInsert, Lsb: 8, Width: 8, Dst: R(0), A: T(1)}},
		Post: Program{{Op: OpExtract, Lsb: 6, Width: 1, Dst: T(2), A: R(49)}, {Op: OpSkip, Skip: 2, Cond: CondNE, Width: 32, A: PC(), B: SlotPlus(3)},
			{Op: OpSext, Width: 8, Dst: R(RegPart(17, 1)), A: T(2)}, {Op: OpAdd, Dst: R(0), A: T(0), B: Const(0)}, {Op: OpZext, Width: 32, Dst: R(0), A: R(0)},
			{Op: OpStore, Size: 4, A: R(7), B: R(0)}, {Op: OpShPush, A: SitePlus(3)}, {Op: OpMov, Dst: PC(), A: SitePlus(3)}},
		Abort: Program{{Op: OpXor, Dst: R(0), A: T(0), B: Const(1)}, {Op: OpShl, Dst: R(0), A: R(0), B: Const(1)}, {Op: OpShr, Dst: R(0), A: R(0), B: Const(1)},
			{Op: OpSub, Dst: R(0), A: R(0), B: Const(1)}, {Op: OpAnd, Dst: R(0), A: R(0), B: Const(1)}, {Op: OpOr, Dst: R(0), A: R(0), B: T(0)}}}
}

// TestGolden: the formats of version 1 never change. A difference here is a
// new version, or a bug.
func TestGolden(t *testing.T) {
	table := goldenTable()
	for name, got := range map[string][]byte{"table.json": table.AppendJSON(nil, testRegs), "table.jsonl": table.AppendJSONL(nil, testRegs), "table.rfx": encode(t, table)} {
		path := "testdata/" + name
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; if that is meant: go test ./fixups -run TestGolden -update", path)
		}
	}
	doc, err := os.ReadFile("testdata/table.json")
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := DecodeJSON(doc, testRegsOf)
	if err != nil {
		t.Fatal(err)
	}
	checkTableEqual(t, fromJSON, table)
	data, err := os.ReadFile("testdata/table.rfx")
	if err != nil {
		t.Fatal(err)
	}
	checkTableEqual(t, open(t, data).Table(), table)
}
