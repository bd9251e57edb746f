package reloctest

// The rules. Each is broken on purpose by a test of this package.
var (
	ruleInfo      = &Rule{"info", "C2", "the constants of an Arch agree with each other and with its decoder"}
	ruleRegNames  = &Rule{"register-names", "C2", "register names and numbers are unique, and numbers are below 256"}
	ruleTrap      = &Rule{"trap", "C2", "Info.Trap decodes as one instruction of class trap"}
	ruleNops      = &Rule{"nops", "C2", "each of Info.Nops decodes as one plain instruction of its length"}
	ruleBranches  = &Rule{"branches", "C2", "Info.Branches go both ways and are sorted by reach"}
	ruleNoPanic   = &Rule{"no-panic", "C1", "any bytes at any address, cut anywhere, get an answer"}
	ruleNoAlloc   = &Rule{"no-alloc", "C1", "Decode, Analyze and Plan do not allocate once the Plan has grown"}
	ruleReason    = &Rule{"reason", "C1", "every error is a fixups.Reason other than none"}
	ruleErrLen    = &Rule{"refused-length", "C1", "Insn.Len of a refusal is how many of the given bytes were enough to tell; with Info.Resync, the encoding's own length"}
	ruleTruncated = &Rule{"truncated", "C1", "a strict prefix of what decides the answer is truncated, and nothing else is"}
	rulePrefix    = &Rule{"own-bytes-only", "C1", "the answer depends on the instruction's own bytes, not on what follows"}
	ruleLen       = &Rule{"length", "C2", "MinLen <= Len <= MaxLen, a multiple of Align, within the given bytes"}
	ruleAligned   = &Rule{"aligned", "C1", "no instruction is at an address that is not a multiple of Align: the answer is mid-instruction"}
	ruleInsn      = &Rule{"insn", "C2", "a decoded Insn has its pc, its bytes with zeros behind them, a class, and a target if its class has one"}
	ruleAllFields = &Rule{"all-fields", "C8", "Decode sets everything, whatever was in the Insn before"}
	rulePC        = &Rule{"pc", "C2", "length and row do not depend on pc, and a pc-relative target moves with it"}
	ruleSame      = &Rule{"deterministic", "C8", "same input, same output, also from several goroutines"}
	ruleRegisters = &Rule{"registers", "C2", "kills are writes, and all registers have names"}
	ruleRows      = &Rule{"rows", "C6", "every decoded instruction has a row with its class, and Rows and Row agree"}
	ruleCases     = &Rule{"cases", "C6", "every row is reached by one of the given encodings"}
	ruleGenerator = &Rule{"generator", "C6", "AppendRandom appends exactly one valid instruction"}
	rulePatch     = &Rule{"patch", "C6", "a Patch is a set of trap and branch"}

	ruleEmpty    = &Rule{"refused-empty", "C6", "a refused plan is empty"}
	ruleForm     = &Rule{"form", "C6", "a plan has the form that was asked for, the length of its site, and a strategy"}
	ruleInvalid  = &Rule{"no-guess", "C6", "an Insn that was not decoded has no plan"}
	ruleKeepInsn = &Rule{"keeps-insn", "C8", "Plan changes nothing of an Insn but its hazards"}
	ruleAsked    = &Rule{"asked-for", "C3", "clobbers, lost registers, data, private slots and aliases only where Env allows them"}
	ruleProgram  = &Rule{"well-formed", "C7", "a plan is well formed, its programs read only temporaries that are set, and they run"}
	ruleEmulate  = &Rule{"emulate", "C3", "an emulate plan has no code, accesses memory before it changes anything, and ends where the instruction can end"}
	ruleStep     = &Rule{"step", "C3", "a step plan has a guard tail, post ends where the instruction can end, abort restores everything"}
	rulePoints   = &Rule{"points", "C4", "there is a point at offset 0 and at each instruction boundary of the slot code, in order, and none elsewhere"}
	ruleBack     = &Rule{"back", "C4", "back ends at the site; a point whose next instruction can fault has one, and so has every start"}
	ruleForward  = &Rule{"forward", "C4", "forward ends where the instruction can end; a point that is not a start has one"}
	ruleCode     = &Rule{"slot-code", "C6", "slot code decodes with the same Arch and does not run past its end"}
	ruleExits    = &Rule{"exits", "C3", "slot code is left for the target or the end of the site, and its operands name what the site's do"}
	ruleTail     = &Rule{"tail", "C3", "the tail is what the plan says"}
	ruleRelocs   = &Rule{"relocs", "C5", "relocs are well formed, lie in the code, and their fields are zero in the template"}
	ruleReach    = &Rule{"reach", "C5", "the reach is not empty, covers the slots that were asked for, and a far plan reaches all"}
	rulePlace    = &Rule{"place", "C5", "every slot in reach can be placed, and one step outside is refused"}
	ruleVerdicts = &Rule{"verdicts", "C6", "Verdicts come in order of preference, near before far, one for each form asked for"}
)

// rules are all of them.
var rules = []*Rule{
	ruleInfo, ruleRegNames, ruleTrap, ruleNops, ruleBranches, ruleNoPanic,
	ruleNoAlloc, ruleReason, ruleErrLen, ruleTruncated, rulePrefix, ruleLen,
	ruleAligned, ruleInsn, ruleAllFields, rulePC, ruleSame, ruleRegisters, ruleRows,
	ruleCases, ruleGenerator, rulePatch, ruleEmpty, ruleForm, ruleInvalid,
	ruleKeepInsn, ruleAsked, ruleProgram, ruleEmulate, ruleStep, rulePoints,
	ruleBack, ruleForward, ruleCode, ruleExits, ruleTail, ruleRelocs,
	ruleReach, rulePlace, ruleVerdicts,
}

// Rules returns what the suite checks, one rule a line of a checklist.
func Rules() []Rule {
	list := make([]Rule, len(rules))
	for i, r := range rules {
		list[i] = *r
	}
	return list
}
