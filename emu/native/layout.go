package native

// Where the runner is. Code under judgement reaches neither by any address that
// states hold; 386 code cannot reach it at all.
const (
	textPage   = 0x5a5a00000000
	textBase   = textPage + elfHead // first instruction
	textSize   = 0x1000
	sharedBase = 0x5a5b00000000 // of what is shared with the parent
	userEnd    = 0x7ffffffff000
)

// Parts of the shared memory, by offset.
const (
	offCtrl     = 0
	offPages    = 0x1000
	offFirst    = 0x2000
	offTrace    = 0x3000
	offStops    = 0x4000
	offAltStack = 0x10000
	offIn       = 0x20000
	offOut      = 0x120000
	offInLines  = 0x220000
	offOutLines = 0xa20000
	offPool     = 0x2220000
	sharedSize  = 0x8000000

	altStackSize = offIn - offAltStack
	maxRuns      = 256 // of one command
	maxPages     = (offFirst - offPages) / pageEntry
	maxTrace     = (offStops - offTrace) / 8
	maxInLines   = (offOutLines - offInLines) / lineEntry
	maxOutLines  = (offPool - offOutLines) / lineEntry
	maxRecord    = (offOut - offIn) / maxRuns
)

// Sizes of table entries, bytes.
const (
	pageEntry = 32 // guest address, live image, base image, size
	lineEntry = 72 // address, 64 bytes
	stopEntry = 64

	changeEntry = 40 // page, size, protection, first byte and end of what was rewritten
)

// The control block.
const (
	ctlCommand = 8 * iota
	ctlRuns    // of the command
	ctlDone    // runs that have ended
	ctlLo      // window of the runs: first address and size
	ctlSize
	ctlLimit
	ctlSteps // begun in this run
	ctlLast  // pc of the last step that was begun
	ctlLines // entries of the list of changed lines in use
	ctlPages // entries of the page table
	ctlRecord
	ctlExtra // words of a signal frame's register area beyond its first 512 bytes
	ctlTrace // entries that the trace may have
	ctlHide  // the trap flag is not shown to instructions that look
	ctlActive
	ctlMode32
	ctlNumber // system call: number, arguments, result
	ctlArg0
	ctlArg1
	ctlArg2
	ctlArg3
	ctlArg4
	ctlArg5
	ctlResult
	ctlGuard // result of installing the filter

	// Of runners that cannot step.
	ctlIn      // address of the next state's record
	ctlOut     // of the next end's
	ctlLineAt  // of the next entry of the list of changed lines
	ctlInAt    // of the next line that a state brings along
	ctlChanges // entries of the table of rewritten code

	ctlOpcodes = 0x400 // table of opcodes that look at the trap flag, or lead to one
)

// Commands.
const (
	commandRun = iota
	commandCall
)

// Kinds of byte in the table at ctlOpcodes.
const (
	opOther   = iota
	opPrefix  // the opcode follows
	opPush    // stores the flags at the stack pointer
	opRestore // sets the trap flag itself
)

// A stop: how a run ended.
const (
	stopKind = 8 * iota // stopLeft, stopLimit, stopSignal
	stopOp              // kind of the last opcode
	stopSteps
	stopFirst
	stopLines
	stopSig
)

const (
	stopLeft = iota
	stopLimit
	stopSignal
)

// A record: a thread's registers as they stand in a signal frame (Linux,
// struct sigcontext), then the bases of fs and gs, then the XSAVE area.
const (
	recR8    = 0
	recR9    = 8
	recR10   = 16
	recR11   = 24
	recR12   = 32
	recR13   = 40
	recR14   = 48
	recR15   = 56
	recDI    = 64
	recSI    = 72
	recBP    = 80
	recBX    = 88
	recDX    = 96
	recAX    = 104
	recCX    = 112
	recSP    = 120
	recIP    = 128
	recFlags = 136
	recCS    = 144
	recSS    = 150
	recErr   = 152
	recTrap  = 160
	recCR2   = 176
	recFS    = 184
	recGS    = 192
	recX     = 256

	contextWords = 23 // of a sigcontext that are kept
	loadedWords  = 19 // of them that are set
	ucContext    = 40 // where a sigcontext begins in a ucontext
	ucSigmask    = 296
	scFPState    = 184
)

// The XSAVE area: legacy region and header.
const (
	xFCW       = 0
	xFSW       = 2
	xFTW       = 4
	xFOP       = 6
	xFIP       = 8
	xFDP       = 16
	xMXCSR     = 24
	xST        = 32
	xXMM       = 160
	xSoftware  = 464 // what the kernel says about the frame
	xHeader    = 512
	xHeaderEnd = 576
)
