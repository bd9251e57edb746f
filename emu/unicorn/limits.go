package unicorn

import "github.com/xol-go/xol/emu"

// limits are the capability tables.
var limits = map[string][]emu.Limit{
	"amd64":   amd64Limits,
	"386":     x86Limits,
	"arm64":   a64Limits,
	"ppc64":   powerLimits,
	"ppc64le": powerLimits,
}
