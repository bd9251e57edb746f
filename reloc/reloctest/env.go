package reloctest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// ParseEnv reads an Env from the words that package corpus uses, which are those
// of relocgen's flags without the dashes: "spill", "slots=near", "dead=rax,rcx".
func ParseEnv(words []string, info *reloc.Info) (reloc.Env, error) {
	var e reloc.Env
	for _, w := range words {
		name, value, has := strings.Cut(w, "=")
		var err error
		if flag := envFlag(&e, name); flag != nil && !has {
			*flag = true
		} else if set := envWords[name]; set != nil && has {
			err = set(&e, value, info)
		} else {
			err = fmt.Errorf("unknown word")
		}
		if err != nil {
			return e, fmt.Errorf("reloctest: env word %q: %w", w, err)
		}
	}
	return e, nil
}

func envFlag(e *reloc.Env, name string) *bool {
	switch name {
	case "spill":
		return &e.Spill
	case "data":
		return &e.Data
	case "allow-lost":
		return &e.AllowLost
	case "allow-unknown":
		return &e.AllowUnknown
	case "short":
		return &e.Short
	case "private":
		return &e.Private
	case "execute-only":
		return &e.ExecuteOnly
	}
	return nil
}

type setter func(e *reloc.Env, value string, info *reloc.Info) error

// envWords set the fields that have values.
var envWords = map[string]setter{
	"slots":    setSlots,
	"dead":     setDead,
	"features": setFeatures,
	"os": func(e *reloc.Env, value string, info *reloc.Info) error {
		if value == "darwin" {
			e.OS = reloc.Darwin
			return nil
		}
		return pick(func(e *reloc.Env) *reloc.OS { return &e.OS }, "linux", reloc.Linux, "windows", reloc.Windows)(e, value, info)
	},
	"return": pick(func(e *reloc.Env) *fixups.Returns { return &e.Return }, "original", fixups.ReturnsOriginal, "slot", fixups.ReturnsSlot),
	"stop":   pick(func(e *reloc.Env) *fixups.Stop { return &e.Stop }, "hardware", fixups.StopHardware, "trap", fixups.StopTrap),
	"abi":    pick(func(e *reloc.Env) *reloc.ABI { return &e.ABI }, "entry", reloc.ABIEntry, "call", reloc.ABICall),
	"vendor": pick(func(e *reloc.Env) *reloc.Vendor { return &e.Vendor }, "intel", reloc.VendorIntel, "amd", reloc.VendorAMD),
	"mode":   pick(func(e *reloc.Env) *reloc.Mode { return &e.Mode }, "user", reloc.ModeUser, "kernel", reloc.ModeKernel),
	"lang":   pick(func(e *reloc.Env) *reloc.Lang { return &e.Lang }, "c", reloc.LangC, "go", reloc.LangGo),
	"shstk":  onOff(func(e *reloc.Env) *reloc.Switch { return &e.SHSTK }),
	"ibt":    onOff(func(e *reloc.Env) *reloc.Switch { return &e.IBT }),
	"bti":    onOff(func(e *reloc.Env) *reloc.Switch { return &e.BTI }),
	"gcs":    onOff(func(e *reloc.Env) *reloc.Switch { return &e.GCS }),
}

func setFeatures(e *reloc.Env, value string, info *reloc.Info) error {
	for _, name := range strings.Split(value, ",") {
		bit, ok := info.Feature(name)
		if !ok {
			return fmt.Errorf("no feature %q of %s", name, info.Name)
		}
		e.Features |= bit
	}
	return nil
}

// pick makes the setter of a field that has one of two values.
func pick[T any](field func(*reloc.Env) *T, word1 string, v1 T, word2 string, v2 T) setter {
	return func(e *reloc.Env, value string, _ *reloc.Info) error {
		switch value {
		case word1:
			*field(e) = v1
		case word2:
			*field(e) = v2
		default:
			return fmt.Errorf("neither %s nor %s", word1, word2)
		}
		return nil
	}
}

func onOff(field func(*reloc.Env) *reloc.Switch) setter {
	return pick(field, "on", reloc.On, "off", reloc.Off)
}

func setSlots(e *reloc.Env, value string, _ *reloc.Info) (err error) {
	switch value {
	case "near":
		e.Slots = reloc.SlotsNear
		return nil
	case "far":
		e.Slots = reloc.SlotsFar
		return nil
	}
	lo, hi, ok := strings.Cut(value, ":")
	if !ok {
		return fmt.Errorf("neither near nor far nor LO:HI")
	}
	e.Slots = reloc.SlotsRange
	if e.SlotMin, err = strconv.ParseInt(lo, 0, 64); err == nil {
		e.SlotMax, err = strconv.ParseInt(hi, 0, 64)
	}
	return err
}

func setDead(e *reloc.Env, value string, info *reloc.Info) error {
	for name := range strings.SplitSeq(value, ",") {
		r, ok := info.Regs.Reg(name)
		if !ok {
			return fmt.Errorf("no register %s", name)
		}
		e.Dead.Add(r)
	}
	return nil
}
