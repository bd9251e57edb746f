package ppc64

import "github.com/xol-go/xol/fixups"

// regs is in the order in which registers are printed.
var regs = fixups.RegNames{
	{Num: 0, Name: "r0", Bits: 64}, {Num: 1, Name: "r1", Bits: 64}, {Num: 2, Name: "r2", Bits: 64}, {Num: 3, Name: "r3", Bits: 64},
	{Num: 4, Name: "r4", Bits: 64}, {Num: 5, Name: "r5", Bits: 64}, {Num: 6, Name: "r6", Bits: 64}, {Num: 7, Name: "r7", Bits: 64},
	{Num: 8, Name: "r8", Bits: 64}, {Num: 9, Name: "r9", Bits: 64}, {Num: 10, Name: "r10", Bits: 64}, {Num: 11, Name: "r11", Bits: 64},
	{Num: 12, Name: "r12", Bits: 64}, {Num: 13, Name: "r13", Bits: 64}, {Num: 14, Name: "r14", Bits: 64}, {Num: 15, Name: "r15", Bits: 64},
	{Num: 16, Name: "r16", Bits: 64}, {Num: 17, Name: "r17", Bits: 64}, {Num: 18, Name: "r18", Bits: 64}, {Num: 19, Name: "r19", Bits: 64},
	{Num: 20, Name: "r20", Bits: 64}, {Num: 21, Name: "r21", Bits: 64}, {Num: 22, Name: "r22", Bits: 64}, {Num: 23, Name: "r23", Bits: 64},
	{Num: 24, Name: "r24", Bits: 64}, {Num: 25, Name: "r25", Bits: 64}, {Num: 26, Name: "r26", Bits: 64}, {Num: 27, Name: "r27", Bits: 64},
	{Num: 28, Name: "r28", Bits: 64}, {Num: 29, Name: "r29", Bits: 64}, {Num: 30, Name: "r30", Bits: 64}, {Num: 31, Name: "r31", Bits: 64},
	{Num: 64, Name: "cr", Bits: 32}, {Num: 65, Name: "lr", Bits: 64}, {Num: 66, Name: "ctr", Bits: 64}, {Num: 76, Name: "xer", Bits: 64},
	{Num: 120, Name: "tar", Bits: 64}, {Num: 32, Name: "f0", Bits: 128}, {Num: 33, Name: "f1", Bits: 128}, {Num: 34, Name: "f2", Bits: 128},
	{Num: 35, Name: "f3", Bits: 128}, {Num: 36, Name: "f4", Bits: 128}, {Num: 37, Name: "f5", Bits: 128}, {Num: 38, Name: "f6", Bits: 128},
	{Num: 39, Name: "f7", Bits: 128}, {Num: 40, Name: "f8", Bits: 128}, {Num: 41, Name: "f9", Bits: 128}, {Num: 42, Name: "f10", Bits: 128},
	{Num: 43, Name: "f11", Bits: 128}, {Num: 44, Name: "f12", Bits: 128}, {Num: 45, Name: "f13", Bits: 128}, {Num: 46, Name: "f14", Bits: 128},
	{Num: 47, Name: "f15", Bits: 128}, {Num: 48, Name: "f16", Bits: 128}, {Num: 49, Name: "f17", Bits: 128}, {Num: 50, Name: "f18", Bits: 128},
	{Num: 51, Name: "f19", Bits: 128}, {Num: 52, Name: "f20", Bits: 128}, {Num: 53, Name: "f21", Bits: 128}, {Num: 54, Name: "f22", Bits: 128},
	{Num: 55, Name: "f23", Bits: 128}, {Num: 56, Name: "f24", Bits: 128}, {Num: 57, Name: "f25", Bits: 128}, {Num: 58, Name: "f26", Bits: 128},
	{Num: 59, Name: "f27", Bits: 128}, {Num: 60, Name: "f28", Bits: 128}, {Num: 61, Name: "f29", Bits: 128}, {Num: 62, Name: "f30", Bits: 128},
	{Num: 63, Name: "f31", Bits: 128}, {Num: 121, Name: "fpscr", Bits: 64}, {Num: 77, Name: "v0", Bits: 128}, {Num: 78, Name: "v1", Bits: 128},
	{Num: 79, Name: "v2", Bits: 128}, {Num: 80, Name: "v3", Bits: 128}, {Num: 81, Name: "v4", Bits: 128}, {Num: 82, Name: "v5", Bits: 128},
	{Num: 83, Name: "v6", Bits: 128}, {Num: 84, Name: "v7", Bits: 128}, {Num: 85, Name: "v8", Bits: 128}, {Num: 86, Name: "v9", Bits: 128},
	{Num: 87, Name: "v10", Bits: 128}, {Num: 88, Name: "v11", Bits: 128}, {Num: 89, Name: "v12", Bits: 128}, {Num: 90, Name: "v13", Bits: 128},
	{Num: 91, Name: "v14", Bits: 128}, {Num: 92, Name: "v15", Bits: 128}, {Num: 93, Name: "v16", Bits: 128}, {Num: 94, Name: "v17", Bits: 128},
	{Num: 95, Name: "v18", Bits: 128}, {Num: 96, Name: "v19", Bits: 128}, {Num: 97, Name: "v20", Bits: 128}, {Num: 98, Name: "v21", Bits: 128},
	{Num: 99, Name: "v22", Bits: 128}, {Num: 100, Name: "v23", Bits: 128}, {Num: 101, Name: "v24", Bits: 128}, {Num: 102, Name: "v25", Bits: 128},
	{Num: 103, Name: "v26", Bits: 128}, {Num: 104, Name: "v27", Bits: 128}, {Num: 105, Name: "v28", Bits: 128}, {Num: 106, Name: "v29", Bits: 128},
	{Num: 107, Name: "v30", Bits: 128}, {Num: 108, Name: "v31", Bits: 128}, {Num: 110, Name: "vscr", Bits: 32}, {Num: 109, Name: "vrsave", Bits: 32},
	{Num: 114, Name: "tfhar", Bits: 64}, {Num: 115, Name: "tfiar", Bits: 64}, {Num: 116, Name: "texasr", Bits: 64}, {Num: 122, Name: "msr", Bits: 64},
	{Num: 123, Name: "ebb", Bits: 64}, {Num: 124, Name: "spr", Bits: 64},
}
