package arm64

// family says how an instruction is planned: instructions of one family differ in
// their fields alone. The tables name it, Decode puts it into Insn.Ext[1], plans
// are chosen by it.
type family uint8

// The families. What may be copied and has no plan of its own is famPlain.
const (
	// famPlain: a copy; nothing of it depends on where it stands. Its class is
	// plain, or privileged for what user code may not do.
	famPlain family = iota

	// Transfers of control.
	famB       // B
	famBL      // BL
	famBCond   // B.cond and BC.cond, 19 bits
	famCBZ     // CBZ, CBNZ
	famTBZ     // TBZ, TBNZ
	famCBReg   // CB<cc>, CBB<cc>, CBH<cc> of two registers, 9 bits
	famCBImm   // CB<cc> of a register and a constant, 9 bits
	famBR      // BR
	famBLR     // BLR
	famRET     // RET
	famBRAuth  // BRAA, BRAAZ, BRAB, BRABZ
	famBLRAuth // BLRAA, BLRAAZ, BLRAB, BLRABZ
	famRETAuth // RETAA, RETAB
	famRETPPCR // RETAASPPCR, RETABSPPCR: the modifier comes from a register
	famRETPPC  // RETAASPPC, RETABSPPC: the modifier is a label behind pc

	// Operands relative to pc.
	famADR     // ADR
	famADRP    // ADRP
	famLDRLit  // LDR W, LDR X, LDRSW of a literal
	famLDRVLit // LDR S, D, Q of a literal
	famPRFMLit // PRFM of a literal

	// Pointer authentication with pc.
	famAUTPPC // AUTIASPPC, AUTIBSPPC: the modifier is a label behind pc
	famPACPPC // PACIASPPC, PACIBSPPC, PACNBIASPPC, PACNBIBSPPC: it is their own pc
	famPACM   // PACM: changes what the next instruction does; refused, adjacent

	// No-operations.
	famNop // NOP, and hints without any effect on registers and memory: emulated by going on
	famBTI // BTI, all of its targets

	// Instructions that are one with their neighbours; refused alone.
	famExclusive // LDXR ... STXR and all others of the local monitor's windows
	famMOPS      // CPY*, SET*: one of three
	famMOVPRFX   // MOVPRFX

	// Exceptions and system instructions.
	famSVC    // SVC
	famHVC    // HVC
	famSMC    // SMC
	famBRK    // BRK
	famHLT    // HLT
	famUDF    // UDF
	famDCPS   // DCPS1, DCPS2, DCPS3, DRPS
	famERET   // ERET, ERETAA, ERETAB
	famMRS    // MRS, MRRS, SYSL, where class is plain: the value does not depend on pc or stepping
	famMSR    // MSR, MSRR, MSR immediate, SYS, SYSP where class is plain
	famDAIF   // MRS and MSR of DAIF, MSR DAIFSet and DAIFClr, ALLINT
	famSPSel  // MSR and MRS of SPSel: another stack pointer from here on
	famWait   // WFE, WFI, WFET, WFIT
	famSystem // MRS, MSR, SYS and the like where class is privileged
	famGCS    // GCSPUSHM, GCSPOPM, GCSSS1, GCSSS2 and the exception level 1 ones
	famTSTART // TSTART
	famTME    // TCOMMIT, TCANCEL, TTEST
)
