package arm64

import "github.com/xol-go/xol/fixups"

// regs is in the order in which registers are printed.
var regs = fixups.RegNames{
	{Num: 0, Name: "x0", Bits: 64}, {Num: 1, Name: "x1", Bits: 64}, {Num: 2, Name: "x2", Bits: 64}, {Num: 3, Name: "x3", Bits: 64},
	{Num: 4, Name: "x4", Bits: 64}, {Num: 5, Name: "x5", Bits: 64}, {Num: 6, Name: "x6", Bits: 64}, {Num: 7, Name: "x7", Bits: 64},
	{Num: 8, Name: "x8", Bits: 64}, {Num: 9, Name: "x9", Bits: 64}, {Num: 10, Name: "x10", Bits: 64}, {Num: 11, Name: "x11", Bits: 64},
	{Num: 12, Name: "x12", Bits: 64}, {Num: 13, Name: "x13", Bits: 64}, {Num: 14, Name: "x14", Bits: 64}, {Num: 15, Name: "x15", Bits: 64},
	{Num: 16, Name: "x16", Bits: 64}, {Num: 17, Name: "x17", Bits: 64}, {Num: 18, Name: "x18", Bits: 64}, {Num: 19, Name: "x19", Bits: 64},
	{Num: 20, Name: "x20", Bits: 64}, {Num: 21, Name: "x21", Bits: 64}, {Num: 22, Name: "x22", Bits: 64}, {Num: 23, Name: "x23", Bits: 64},
	{Num: 24, Name: "x24", Bits: 64}, {Num: 25, Name: "x25", Bits: 64}, {Num: 26, Name: "x26", Bits: 64}, {Num: 27, Name: "x27", Bits: 64},
	{Num: 28, Name: "x28", Bits: 64}, {Num: 29, Name: "x29", Bits: 64}, {Num: 30, Name: "x30", Bits: 64}, {Num: 31, Name: "sp", Bits: 64},
	{Num: 128, Name: "flags", Bits: 64}, {Num: 129, Name: "btype", Bits: 64}, {Num: 64, Name: "v0", Bits: 128}, {Num: 65, Name: "v1", Bits: 128},
	{Num: 66, Name: "v2", Bits: 128}, {Num: 67, Name: "v3", Bits: 128}, {Num: 68, Name: "v4", Bits: 128}, {Num: 69, Name: "v5", Bits: 128},
	{Num: 70, Name: "v6", Bits: 128}, {Num: 71, Name: "v7", Bits: 128}, {Num: 72, Name: "v8", Bits: 128}, {Num: 73, Name: "v9", Bits: 128},
	{Num: 74, Name: "v10", Bits: 128}, {Num: 75, Name: "v11", Bits: 128}, {Num: 76, Name: "v12", Bits: 128}, {Num: 77, Name: "v13", Bits: 128},
	{Num: 78, Name: "v14", Bits: 128}, {Num: 79, Name: "v15", Bits: 128}, {Num: 80, Name: "v16", Bits: 128}, {Num: 81, Name: "v17", Bits: 128},
	{Num: 82, Name: "v18", Bits: 128}, {Num: 83, Name: "v19", Bits: 128}, {Num: 84, Name: "v20", Bits: 128}, {Num: 85, Name: "v21", Bits: 128},
	{Num: 86, Name: "v22", Bits: 128}, {Num: 87, Name: "v23", Bits: 128}, {Num: 88, Name: "v24", Bits: 128}, {Num: 89, Name: "v25", Bits: 128},
	{Num: 90, Name: "v26", Bits: 128}, {Num: 91, Name: "v27", Bits: 128}, {Num: 92, Name: "v28", Bits: 128}, {Num: 93, Name: "v29", Bits: 128},
	{Num: 94, Name: "v30", Bits: 128}, {Num: 95, Name: "v31", Bits: 128}, {Num: 48, Name: "p0", Bits: 64}, {Num: 49, Name: "p1", Bits: 64},
	{Num: 50, Name: "p2", Bits: 64}, {Num: 51, Name: "p3", Bits: 64}, {Num: 52, Name: "p4", Bits: 64}, {Num: 53, Name: "p5", Bits: 64},
	{Num: 54, Name: "p6", Bits: 64}, {Num: 55, Name: "p7", Bits: 64}, {Num: 56, Name: "p8", Bits: 64}, {Num: 57, Name: "p9", Bits: 64},
	{Num: 58, Name: "p10", Bits: 64}, {Num: 59, Name: "p11", Bits: 64}, {Num: 60, Name: "p12", Bits: 64}, {Num: 61, Name: "p13", Bits: 64},
	{Num: 62, Name: "p14", Bits: 64}, {Num: 63, Name: "p15", Bits: 64}, {Num: 47, Name: "ffr", Bits: 64}, {Num: 130, Name: "fpcr", Bits: 64},
	{Num: 131, Name: "fpsr", Bits: 64}, {Num: 35, Name: "tpidrro", Bits: 64}, {Num: 36, Name: "tpidr", Bits: 64}, {Num: 132, Name: "gcspr", Bits: 64},
	{Num: 133, Name: "za", Bits: 64}, {Num: 134, Name: "system", Bits: 64},
}
