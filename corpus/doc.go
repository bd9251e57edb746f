// Package corpus holds the cases that every port, oracle and tool of this
// module is held against: instructions that bite, where they live, and what is
// right. The text files beside this page are embedded; [All] and [ByArch] give
// their cases, [Rows] the one case that each row of a port's tables has.
//
// # The format
//
// A file is a list of cases between blank lines. A line that begins with # is a
// comment of the case that follows it (of the file, before the first blank
// line). A case begins with its name, in the form arch/name with a GOARCH
// spelling; its other lines are indented by a tab, begin with a keyword, and
// come in this order:
//
//	case amd64/call-after-prologue
//		source  frida-gum, x86 relocator tests, call_near_relative
//		code    0x401000 55|8bec|e804000000
//		slot    0x2a0000500000
//		mem     0x401007 01020304
//		given   rbx=rsp-8
//		env     spill
//		insn    +3 call target=0x40100c pushes=0x401008 hazards=pushes-pc
//		want    +3 jump plan
//		want    +3 step refused no-scratch with slots=near return=slot
//		region  +0 5 refused jump-into-region from=0x401006 to=0x401002
//		after   pc=0x40100c
//		after   eax=0x1 when ebx=0x2a
//		note    Words of ours.
//
// source says where the fact comes from: the section of a manual, or the public
// place where somebody got it wrong.
//
// code gives an address and bytes in memory order. A bar stands behind each
// instruction but the last, so the bars are the expected lengths. Two bars open
// the rest: bytes that are there but are not decoded, because they are no
// instruction, or because the instruction before them is cut.
//
// slot is an address of the copy for which the case bites; there may be several.
// mem and given are memory and registers before the run (registers that are not
// given have any value); a value is a number, a register, or a register plus or
// minus a number. env are facts and wishes that hold for all wants, in the words
// of relocgen's flags without the dashes.
//
// The code around an instruction, for what depends on its neighbours, is the
// case's own bytes and its mem.
//
// insn says what an instruction is: offset, class, and those of
//
//	alt=N          length on the other vendor's processors
//	target=X       target of a direct branch, or of a transaction's abort
//	address=X      address that a pc-relative operand names
//	pushes=X       return address that is pushed or linked
//	when=COND      condition under which the branch is taken: terms between &, and
//	               alternatives of them between |, as in rcx!=1&ZF=1, about the
//	               state before the instruction
//	hazards=H,H    hazards that it has, perhaps among others
//
// or "insn +0 refused REASON": the bytes do not decode.
//
// want says what the engine answers for a form: "plan", or "refused" and a
// reason ("any" where several are right), after "with" under more env words.
// region is the same for the bytes of a patch; from and to name the jump that
// forbids it. after is what holds when the run is over (pc, registers, memory as
// [address]; old X is the value before), with "when" if it depends on the state.
//
// # What is right and what is there
//
// The files say what is right, not what this version does. Expectations that no
// port meets yet are listed with a reason in pending.txt, and a test fails as
// soon as one of them is met. Cases of architectures that have no port wait.
//
// # Rows and the census
//
// x86_rows.txt has one case for each row of the x86 tables and x86_census.txt
// counts what they say of every opcode of every map. Both are made by a sweep
// over the opcode maps (go generate). arm64_rows.txt, arm64_census.txt and those of
// ppc64 have and count the rows of A64 and Power, where all 2^32 words have an
// answer and each count its arithmetic. Tests make all of them again and compare,
// so that an encoding cannot change its class, and a row cannot lack a case,
// without a reviewed difference in these files.
package corpus
