package relocgen

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// wishes are the flags of reloc.Env, read from the command line.
type wishes struct {
	env  reloc.Env
	both bool // near and far variants of each form
}

// envFlags are the flags that explain and table share.
func envFlags() []cli.Flag {
	str := func(name, usage string) cli.Flag {
		return &cli.StringFlag{Name: name, Usage: servedUsage(name, usage), Category: "facts and wishes"}
	}
	flag := func(name, usage string) cli.Flag {
		return &cli.BoolFlag{Name: name, Usage: servedUsage(name, usage), Category: "facts and wishes"}
	}
	return []cli.Flag{
		str("form", "`FORMS` asked for: step, jump, emulate, comma-separated (default all)"),
		str("slots", "where slots can be: near, far, both, or `LO:HI`, a range of slot minus site (default both)"),
		str("return", "return address that a callee sees: original, or slot: that of a call in the slot (default original)"),
		str("dead", "registers `REG,...` whose values nobody needs at the site (single sites only)"),
		str("abi", "take registers as dead that the ABI makes so at this `KIND` of site: entry or call (default none)"),
		flag("spill", "allow saving a register on the stack, below what compilers and signals leave alone"),
		flag("data", "slots have data memory of their own, at most 2 GiB away (needs --private)"),
		flag("allow-lost", "allow plans in which a load that faults has lost the old value of its destination"),
		flag("allow-unknown", "allow regions that an unresolved jump might enter"),
		flag("short", "allow shorter plans that are wrong if an operand overlaps the word being pushed (alias)"),
		str("vendor", "processor's `VENDOR`: intel or amd (default unknown; amd64 and 386)"),
		str("features", "optional parts of the ISA known to exist, comma-separated: "+featureNames()),
		str("os", "operating system: linux, windows or darwin (default linux)"),
		str("lang", "language of the code: c or go (default c)"),
		str("shstk", "shadow stack: on, off or unknown (default unknown; amd64 and 386)"),
		str("ibt", "indirect branch tracking: on, off or unknown (default unknown; amd64 and 386)"),
		str("bti", "branch target identification: on, off or unknown (default unknown; arm64)"),
		str("gcs", "guarded control stack: on, off or unknown (default unknown; arm64)"),
		str("zone", "`BYTES` below the stack pointer that compilers use (default by ABI)"),
		str("mode", "privilege of the site: user or kernel (default user)"),
		str("stop", "how a stepped copy is stopped: hardware or trap (default hardware)"),
		flag("private", "slots may be private to a thread"),
	}
}

// servedUsage says of a flag that is not served that it is not.
func servedUsage(name, usage string) string {
	if why, ok := notServed[name]; ok {
		return usage + "; refused: " + why
	}
	return usage
}

// notServed are flags of the interface that no port serves yet, and why. Using
// one is a usage error rather than a silent no-op.
var notServed = map[string]string{
	"allow-unknown": "it belongs to regions, which are not there yet",
}

// choice is a flag with a fixed set of words.
func choice[T any](c *cli.Command, name string, dst *T, words map[string]T) error {
	if !c.IsSet(name) {
		return nil
	}
	v, ok := words[c.String(name)]
	if !ok {
		return usagef("--%s: %q is not one of %s", name, c.String(name), strings.Join(sortedKeys(words), ", "))
	}
	*dst = v
	return nil
}

var switches = map[string]reloc.Switch{"on": reloc.On, "off": reloc.Off, "unknown": reloc.Unknown}

// parseEnv reads the flags, but for those that speak of an instruction set's own:
// fit reads them.
func parseEnv(c *cli.Command) (*wishes, error) {
	for _, f := range sortedKeys(notServed) {
		if c.IsSet(f) {
			return nil, usagef("--%s is not served: %s", f, notServed[f])
		}
	}
	w := &wishes{both: true}
	e := &w.env
	err := firstErr(
		parseForms(c, &e.Forms),
		parseSlots(c, w),
		choice(c, "return", &e.Return, map[string]fixups.Returns{"original": fixups.ReturnsOriginal, "slot": fixups.ReturnsSlot}),
		choice(c, "abi", &e.ABI, map[string]reloc.ABI{"none": reloc.ABINone, "entry": reloc.ABIEntry, "call": reloc.ABICall}),
		choice(c, "vendor", &e.Vendor, map[string]reloc.Vendor{"unknown": reloc.VendorUnknown, "intel": reloc.VendorIntel, "amd": reloc.VendorAMD}),
		choice(c, "os", &e.OS, map[string]reloc.OS{"linux": reloc.Linux, "windows": reloc.Windows, "darwin": reloc.Darwin}),
		choice(c, "lang", &e.Lang, map[string]reloc.Lang{"c": reloc.LangC, "go": reloc.LangGo}),
		choice(c, "shstk", &e.SHSTK, switches),
		choice(c, "ibt", &e.IBT, switches),
		choice(c, "bti", &e.BTI, switches),
		choice(c, "gcs", &e.GCS, switches),
		choice(c, "mode", &e.Mode, map[string]reloc.Mode{"user": reloc.ModeUser, "kernel": reloc.ModeKernel}),
		choice(c, "stop", &e.Stop, map[string]fixups.Stop{"hardware": fixups.StopHardware, "trap": fixups.StopTrap}),
		parseZone(c, &e.Zone),
	)
	e.Spill, e.AllowLost, e.Short = c.Bool("spill"), c.Bool("allow-lost"), c.Bool("short")
	e.Data, e.Private = c.Bool("data"), c.Bool("private")
	if err == nil && e.Data && !e.Private {
		err = usagef("--data needs --private: threads that share a slot would share its data")
	}
	return w, err
}

// fit reads the flags whose words are an instruction set's own, and refuses those
// that say nothing of it: registers, features, protections, vendors.
func (w *wishes) fit(c *cli.Command, a reloc.Arch) error {
	info := a.Info()
	speak := map[string]bool{
		"shstk": info.Guards == reloc.GuardsCET, "ibt": info.Guards == reloc.GuardsCET,
		"bti": info.Guards == reloc.GuardsGCS, "gcs": info.Guards == reloc.GuardsGCS,
	}
	_, speak["vendor"] = a.(reloc.VendorDecoder)
	for _, name := range sortedKeys(speak) {
		if c.IsSet(name) && !speak[name] {
			return usagef("--%s says nothing of %s", name, info.Name)
		}
	}
	return firstErr(parseDead(c, &w.env.Dead, info.Regs), parseFeatures(c, &w.env.Features, info))
}

func parseFeatures(c *cli.Command, dst *reloc.Features, info *reloc.Info) error {
	if !c.IsSet("features") {
		return nil
	}
	for _, name := range strings.Split(c.String("features"), ",") {
		bit, ok := info.Feature(name)
		if !ok {
			return usagef("--features: %q is not a feature of %s (%s)", shorten(name), info.Name, cmp.Or(featuresOf(info), "it has none"))
		}
		*dst |= bit
	}
	return nil
}

func featuresOf(info *reloc.Info) string {
	var names []string
	for _, f := range info.Features {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// featureNames lists the features of all instruction sets, for the help.
func featureNames() string {
	var sets []string
	for a := range arch.All() {
		if names := featuresOf(a.Info()); names != "" {
			sets = append(sets, a.Info().Name+": "+names)
		}
	}
	return cmp.Or(strings.Join(sets, "; "), "no instruction set has any yet")
}

func parseForms(c *cli.Command, dst *fixups.Forms) error {
	if !c.IsSet("form") {
		return nil
	}
	for _, word := range strings.Split(c.String("form"), ",") {
		var f fixups.Form
		if err := f.UnmarshalText([]byte(word)); err != nil || f == fixups.FormRegion {
			return usagef("--form: %q is not one of step, jump, emulate", word)
		}
		*dst |= f.Bit()
	}
	return nil
}

func parseSlots(c *cli.Command, w *wishes) error {
	if !c.IsSet("slots") {
		return nil
	}
	word := c.String("slots")
	w.both = word == "both"
	switch word {
	case "both":
	case "near":
		w.env.Slots = reloc.SlotsNear
	case "far":
		w.env.Slots = reloc.SlotsFar
	default:
		lo, hi, ok := strings.Cut(word, ":")
		min, err1 := strconv.ParseInt(lo, 0, 64)
		max, err2 := strconv.ParseInt(hi, 0, 64)
		if !ok || err1 != nil || err2 != nil || min > max {
			return usagef("--slots: %q is not near, far, both or LO:HI", word)
		}
		w.env.Slots, w.env.SlotMin, w.env.SlotMax = reloc.SlotsRange, min, max
	}
	return nil
}

func parseDead(c *cli.Command, dst *fixups.RegSet, regs fixups.RegNames) error {
	if !c.IsSet("dead") {
		return nil
	}
	for _, name := range strings.Split(c.String("dead"), ",") {
		r, ok := regs.Reg(name)
		if !ok || r >= 256 {
			return usagef("--dead: no register %q", name)
		}
		dst.Add(r)
	}
	return nil
}

func parseZone(c *cli.Command, dst *reloc.Bytes) error {
	if !c.IsSet("zone") {
		return nil
	}
	n, err := strconv.ParseUint(c.String("zone"), 0, 16)
	if err != nil || n > 4096 {
		return usagef("--zone: %q is not a number of bytes up to 4096", c.String("zone"))
	}
	*dst = reloc.Bytes{N: int(n), Set: true}
	return nil
}
