package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xol-go/xol/internal/gen/bitrows"
)

// Operands in 32 bits, as arch/ppc64/registers.go reads them: access in bits 0 to
// 2, kind in 3 to 7, position of the field in 8 to 12, of its extension in 13 to
// 17, a register or its number from 18 on.
const (
	kindShift  = 3
	posShift   = 8
	extShift   = 13
	fixedShift = 18
)

// accesses, in the order of the constants in the port.
const accesses = "rwxc"

// Kinds, in the order of the constants in the port.
const (
	kindFixed  = iota // a register by number
	kindGPR           // RT RS RA RB RC
	kindGPR0          // RA, where 0 stands for the value 0
	kindGPR2          // a pair
	kindGPR3          // three: the operand, and the pair behind it
	kindGPRTo         // RT and all above
	kindGPRAll        // any
	kindFPR
	kindFPR2
	kindVR
	kindVSR
	kindVSR2    // two from an even number: Tp in four bits, TX
	kindVSRPair // two from an even number in A and AX
	kindACC
	kindRc // cr, if the bit is set
	kindOE // xer, if the bit is set
	kindBO // what the BO field makes of ctr and cr
)

// fixed are the registers that have names of their own; numbers as in the port's
// info.go.
var fixed = map[string]int{
	"cr": 64, "lr": 65, "ctr": 66, "xer": 76, "vrsave": 109, "vscr": 110, "tfhar": 114, "tfiar": 115, "texasr": 116,
	"tar": 120, "fpscr": 121, "msr": 122, "ebb": 123, "spr": 124,
}

// kinds are the places by the names of their fields.
var kinds = map[string]struct {
	kind       int
	field, ext string
}{
	"RT": {kindGPR, "RT", ""}, "RS": {kindGPR, "RS", ""}, "RA": {kindGPR, "RA", ""}, "RB": {kindGPR, "RB", ""}, "RC": {kindGPR, "RC", ""},
	"RA0": {kindGPR0, "RA", ""}, "RTp": {kindGPR2, "RT", ""}, "RSp": {kindGPR2, "RS", ""}, "RTx3": {kindGPR3, "RT", ""},
	"RTm": {kindGPRTo, "RT", ""}, "gpr": {kindGPRAll, "", ""},
	"FRT": {kindFPR, "FRT", ""}, "FRS": {kindFPR, "FRS", ""}, "FRA": {kindFPR, "FRA", ""}, "FRB": {kindFPR, "FRB", ""}, "FRC": {kindFPR, "FRC", ""},
	"FRTp": {kindFPR2, "FRTp", ""}, "FRSp": {kindFPR2, "FRSp", ""}, "FRAp": {kindFPR2, "FRAp", ""}, "FRBp": {kindFPR2, "FRBp", ""},
	"VRT": {kindVR, "VRT", ""}, "VRS": {kindVR, "VRS", ""}, "VRA": {kindVR, "VRA", ""}, "VRB": {kindVR, "VRB", ""}, "VRC": {kindVR, "VRC", ""},
	"XT": {kindVSR, "T", "TX"}, "XS": {kindVSR, "S", "SX"}, "XA": {kindVSR, "A", "AX"}, "XB": {kindVSR, "B", "BX"}, "XC": {kindVSR, "C", "CX"},
	"XTp": {kindVSR2, "Tp", "TX"}, "XSp": {kindVSR2, "Sp", "SX"}, "XAp": {kindVSRPair, "A", "AX"},
	"ACC": {kindACC, "AT", ""}, "Rc": {kindRc, "Rc", ""}, "OE": {kindOE, "OE", ""}, "BO": {kindBO, "BO", ""},
}

// parseOperand reads ACCESS:REGISTER, or Rc, OE, BO.
func parseOperand(r *bitrows.Row, text string) error {
	access, name := 0, text
	if a, n, ok := strings.Cut(text, ":"); ok {
		if access = strings.Index(accesses, a); access < 0 || len(a) != 1 {
			return fmt.Errorf("access %q", text)
		}
		name = n
	} else if name != "Rc" && name != "OE" && name != "BO" {
		return fmt.Errorf("attribute %q", text)
	}
	code := uint32(access)
	if n, ok := fixed[name]; ok {
		r.Ops = append(r.Ops, code|kindFixed<<kindShift|uint32(n)<<fixedShift)
		return nil
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "r")); err == nil && n < 32 && name[0] == 'r' {
		r.Ops = append(r.Ops, code|kindFixed<<kindShift|uint32(n)<<fixedShift)
		return nil
	}
	k, ok := kinds[name]
	if !ok {
		return fmt.Errorf("register %q", text)
	}
	code |= uint32(k.kind) << kindShift
	f, err := fieldOf(r, k.field)
	if err != nil {
		return err
	}
	code |= uint32(f) << posShift
	if k.ext != "" {
		e, ok := r.Fields[k.ext]
		if !ok {
			return fmt.Errorf("no field %s for %s", k.ext, text)
		}
		code |= uint32(e.Pos) << extShift
	}
	r.Ops = append(r.Ops, code)
	return nil
}

// fieldOf returns where the field of a register is. A register called RTp can
// stand in a field of its own name too.
func fieldOf(r *bitrows.Row, name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	for _, n := range []string{name, name + "p"} {
		if f, ok := r.Fields[n]; ok {
			if n == "BO" {
				return f.Pos + f.Width - 5, nil // bcctr has the first two bits of it apart
			}
			return f.Pos, nil
		}
	}
	if name == "RT" { // stmw names the first register RS
		if f, ok := r.Fields["RS"]; ok {
			return f.Pos, nil
		}
	}
	return 0, fmt.Errorf("no field %s", name)
}
