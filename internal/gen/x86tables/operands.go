package main

import "strings"

// methods are the places of operands, by the first letter of their code, and the
// identifiers that arch/x86/registers.go has for them.
var methods = map[byte]string{
	'A': "", 'I': "", 'J': "", 'O': "mO", // O has no register of its own, but a segment
	'B': "mB", 'C': "mC", 'D': "mD", 'E': "mE", 'G': "mG", 'H': "mH", 'L': "mL", 'M': "mM", 'N': "mN", 'P': "mP",
	'Q': "mQ", 'R': "mR", 'U': "mU", 'V': "mV", 'W': "mW", 'X': "mX", 'Y': "mY", 'Z': "mZ",
}

// codes that are not a method and a type.
var specials = map[string]string{
	"KG": "mKG", "KGG": "mKGG", "KE": "mKE", "KM": "mM", "KR": "mKE", "KH": "mKH",
	"TG": "mTG", "TE": "mTE", "TH": "mTH", "aaa": "mAAA", "Hx4": "mH4", "sti": "mST", "1": "",
}

// types that matter to a general register; all others are tOther.
var types = set("b w d q v z y n")

var accesses = map[byte]string{'r': "aR", 'w': "aW", 'x': "aX", 'c': "aC", 'n': "aN"}

// symbol is the operand as an expression of arch/x86/registers.go, empty if it
// names neither register nor memory.
func (o operand) symbol(r *row) (string, error) {
	access := accesses[o.access]
	if s, ok := specials[o.code]; ok {
		if s == "" {
			return "", nil
		}
		return access + "|" + s, nil
	}
	if fixedRegs[o.code] {
		return access + "|mFix|" + fixedName(o.code), nil
	}
	m, ok := methods[o.code[0]]
	if !ok {
		return "", r.errorf("operand code %q", o.code)
	}
	if m == "mB" && r.src.space == spaceLegacy {
		m = "mBND"
	}
	if o.code == "Bm" {
		m = "mBNDM"
	}
	if m == "" {
		return "", nil
	}
	if t := o.code[1:]; types[t] {
		return access + "|" + m + "|t" + strings.ToUpper(t), nil
	}
	return access + "|" + m, nil
}

// fixedName is the identifier of a fixed register: rAX, which goes by operand
// size, is fixVAX, aAX, which goes by address size, fixAAX, eAX fixZAX.
func fixedName(code string) string {
	switch code {
	case "rAX", "rCX", "rDX", "rBX", "rBP", "rSI", "rDI":
		return "fixV" + code[1:]
	case "eAX":
		return "fixZAX"
	}
	return "fix" + strings.ToUpper(strings.NewReplacer("-", "to", "*", "all").Replace(code))
}

// symbols are the operands of a row, explicit ones first.
func (r *row) symbols() ([]string, error) {
	var out []string
	for _, o := range append(r.operands, r.implicit...) {
		s, err := o.symbol(r)
		if err != nil {
			return nil, err
		}
		if s != "" {
			out = append(out, s)
		}
	}
	for _, a := range []string{"push", "pop"} {
		if r.attrs[a] {
			out = append(out, "aX|mFix|fixRSP")
		}
	}
	if r.attrs["rep"] {
		out = append(out, "aC|mREP")
	}
	if r.attrs["xpush"] || r.attrs["xpop"] {
		out = append(out, "aX|mFix|fixST")
	}
	return out, nil
}

// recipe packs the conditions of a row, from which encodings of it are made; its
// fields are those of arch/x86/random.go.
func (r *row) recipe() uint64 {
	c := &r.cond
	all := func(v, mask uint8) uint64 {
		if v == 0 {
			v = mask
		}
		return uint64(v)
	}
	return uint64(r.op) | uint64(b2i(r.plusR))<<8 | uint64(r.src.space)<<9 | uint64(r.src.opmap)<<12 |
		all(c.pp, 15)<<16 | all(c.w, 3)<<20 | all(c.l, 7)<<22 | all(c.mode, 3)<<25 | all(c.mod, 3)<<27 |
		all(c.nd, 3)<<29 | all(c.nf, 3)<<31 | all(c.reg, 255)<<33 | all(c.rm, 255)<<41 | uint64(b2i(c.rex2))<<49
}
