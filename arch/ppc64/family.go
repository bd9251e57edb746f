package ppc64

// family says how an instruction is planned: instructions of one family differ in
// their fields alone. The tables name it, Decode puts it into Insn.Ext[1], plans
// are chosen by it. What a field says is read from the instruction's words
// (encode.go), so one family serves AA and LK, every BO and every register.
type family uint8

// The families. What may be copied and has no plan of its own is famPlain, or
// famPrefixed if it has two words.
const (
	// famPlain: one word, a copy; nothing of it depends on where it stands. Its
	// class is plain, or privileged for what user code may not do.
	famPlain family = iota
	// famPrefixed: two words, a copy in a slot that keeps it off the end of a
	// 64-byte block; R=0, or no operand relative to pc.
	famPrefixed
	// famNop: ori 0,0,0, the other no-operations and hints without any effect on
	// registers and memory, pnop: emulated by going on.
	famNop

	// Transfers of control. AA and LK are fields.
	famB     // b, ba, bl, bla
	famBC    // bc, bca, bcl, bcla
	famBCLR  // bclr, bclrl
	famBCCTR // bcctr, bcctrl
	famBCTAR // bctar, bctarl

	// Operands relative to pc.
	famAddPCIS  // addpcis
	famPADDI    // paddi R=1
	famPLoad    // R=1 loads of one GPR: plbz plhz plha plwz plwa pld
	famPLoadTwo // R=1 plq
	famPAccess  // R=1 stores, and loads of what is no GPR: pst*, plf*, plx*, plxv, plxvp

	// Instructions that are one with their neighbours; refused alone.
	famExclusive // lbarx ... lqarx, stbcx. ... stqcx.

	// Interrupts and system instructions.
	famSC     // sc
	famSCV    // scv: writes LR and CTR
	famTrap   // tw, twi, td, tdi
	famAttn   // attn: stops the processor for a service processor
	famRFI    // rfid, hrfid, rfscv, urfid: pc and MSR from registers
	famRFEBB  // rfebb: pc from BESCR's return register
	famStop   // stop, doze, nap, sleep, rvwinkle: goes on elsewhere
	famWait   // wait
	famMFMSR  // mfmsr: shows the stepper's bit
	famMTMSR  // mtmsr, mtmsrd: with L=0 they change what steps and translates
	famSystem // all others of class privileged
	famTBEGIN // tbegin.: leaves its own address behind as the failure handler
	famTM     // tend. tabort. tabortwc. tabortwci. tabortdc. tabortdci. tcheck tsr.
	famTMPriv // treclaim. trechkpt.
)
