package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/xol-go/xol/internal/gen/bitrows"
)

// Operands in 32 bits, as arch/arm64/registers.go reads them: access in bits 0 to
// 1, kind in 2 to 4, position of the field in 8 to 12, a register's number from 16
// on.
const (
	kindShift  = 2
	posShift   = 8
	fixedShift = 16
)

// accesses, in the order of the constants in the port.
const accesses = "rwxc"

// Kinds, in the order of the constants in the port.
const (
	kindFixed  = iota // a register by number
	kindX             // a general register, 31 is XZR
	kindSP            // a general register, 31 is SP
	kindPair          // two general registers
	kindV             // a vector register
	kindGPRAll        // x0 to x30
	kindVAll          // v0 to v31
	kindPAll          // p0 to p15
)

// fixed are the registers that have names of their own; numbers as in the port's
// info.go.
var fixed = map[string]int{
	"x0": 0, "x15": 15, "x16": 16, "x17": 17, "x30": 30, "sp": 31, "tpidrro": 35, "tpidr": 36, "ffr": 47, "nzcv": 128, "btype": 129,
	"fpcr": 130, "fpsr": 131, "gcspr": 132, "za": 133, "system": 134,
}

var all = map[string]int{"gpr": kindGPRAll, "anyv": kindVAll, "anyp": kindPAll}

var suffixes = map[string]int{"": kindX, "sp": kindSP, "pair": kindPair, "v": kindV}

var registerField = regexp.MustCompile(`^R[dnmast]2?$`)

// parseOperand reads ACCESS:REGISTER.
func parseOperand(r *bitrows.Row, text string) error {
	a, name, ok := strings.Cut(text, ":")
	if !ok {
		return fmt.Errorf("attribute %q", text)
	}
	access := strings.Index(accesses, a)
	if access < 0 || len(a) != 1 {
		return fmt.Errorf("access %q", text)
	}
	code := uint32(access)
	if n, ok := fixed[name]; ok {
		r.Ops = append(r.Ops, code|kindFixed<<kindShift|uint32(n)<<fixedShift)
		return nil
	}
	if k, ok := all[name]; ok {
		r.Ops = append(r.Ops, code|uint32(k)<<kindShift)
		return nil
	}
	name, suffix, _ := strings.Cut(name, ".")
	kind, ok := suffixes[suffix]
	if !ok || !registerField.MatchString(name) {
		return fmt.Errorf("register %q", text)
	}
	f, ok := r.Fields[name]
	if !ok || f.Width != 5 {
		return fmt.Errorf("no field %s of five bits", name)
	}
	r.Ops = append(r.Ops, code|uint32(kind)<<kindShift|uint32(f.Pos)<<posShift)
	return nil
}
