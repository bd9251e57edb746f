package relocgen

import (
	"context"
	"debug/elf"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

const tableHelp = `Writes the fixup table of an object file: an entry for every instruction inside
known function bounds (symbols, else .eh_frame, else Go's pclntab); all other
executable bytes are listed as gaps, never guessed.

A line of the table is the address, the place in its function, the bytes, their
text, the class, and the forms that have a plan: emulate, and jump and step with
the slots that they serve. docs/format.md has the JSON and the binary format.

--addr, --entries and --sdt together ask for the sites of any of them; --func,
--returns and --only take of those what is theirs.

Examples:
  relocgen table /bin/ls
  relocgen table --only refused /bin/ls
  relocgen table --entries --binary -o ls.rfx /bin/ls

  echo 'int main(void) { return 0; }' | cc -x c -o a.out -
  relocgen table --jsonl --only fixups --func main a.out
  relocgen table --addr 0x$(nm a.out | sed -n 's/ T main$//p') --json a.out

Exit code 1 (with --addr): a site has no plan in any form that was asked for.`

func tableVerb(s *Streams) *cli.Command {
	list := func(name, usage string) cli.Flag {
		return &cli.StringSliceFlag{Name: name, Usage: usage, Category: "which sites"}
	}
	flag := func(name, usage string) cli.Flag {
		return &cli.BoolFlag{Name: name, Usage: usage, Category: "which sites"}
	}
	return &cli.Command{
		Name: "table", Usage: "write the fixup table of an object file",
		ArgsUsage: "FILE", Description: tableHelp,
		Flags: slices.Concat([]cli.Flag{
			list("func", "only sites in the function `NAME` (repeatable)"),
			list("addr", "only the site at `ADDR`, as the file has it (repeatable)"),
			flag("sdt", "only static probes (.note.stapsdt)"),
			flag("entries", "only function entries"),
			flag("returns", "only return instructions"),
			&cli.StringFlag{Name: "only", Usage: "only `WHICH` sites: fixups (not plain copies) or refused (no plan)", Category: "which sites"},
			&cli.StringFlag{Name: "slot", Usage: "show all code as placed in a slot at `ADDR`"},
			&cli.BoolFlag{Name: "count", Usage: "print how many sites have a plan in each form, and why not, by class", Category: "output"},
			&cli.BoolFlag{Name: "binary", Usage: "write the binary table (.rfx)", Category: "output"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress line", Category: "output"},
		}, envFlags(), outputFlags()),
		Action: func(_ context.Context, c *cli.Command) error { return tableAction(s, c) },
	}
}

// job is one run of table.
type job struct {
	file *objfile.File
	arch reloc.Arch
	w    *wishes
	slot *uint64
	pick picker
	enc  siteEncoder
	meta fixups.Table
	text bool // disassembly text is wanted
}

func tableAction(s *Streams, c *cli.Command) error {
	found, err := tableRun(s, c)
	if err == nil && c.IsSet("addr") && found.unplanned > 0 {
		return errFinding
	}
	return err
}

// tableRun writes the table and returns what was found on the way.
func tableRun(s *Streams, c *cli.Command) (found counts, err error) {
	if c.Args().Len() != 1 {
		return found, usagef("table takes one FILE (relocgen table --help)")
	}
	j := &job{}
	f, err := parseFormat(c)
	if err != nil {
		return found, err
	}
	if c.IsSet("slot") && (f == formatBinary || f == formatCount) {
		return found, usagef("--slot shows code: not with --binary, whose readers place it, nor with --count")
	}
	if j.w, err = parseEnv(c); err != nil {
		return found, err
	}
	if j.pick, err = parsePicker(c); err != nil {
		return found, err
	}
	if j.file, err = objfile.Open(c.Args().First()); err != nil {
		return found, inputErr(err)
	}
	defer j.file.Close()
	if err = j.prepare(c, f, !colourless(c, s)); err != nil {
		return found, err
	}
	out, err := openSink(c, s.Out)
	if err != nil {
		return found, err
	}
	run := j.run
	if f == formatBinary {
		run = j.runBinary
	}
	found, err = run(out, newProgress(s, c))
	return found, outcome(err, out.commit(err == nil))
}

// prepare resolves what depends on the file: its instruction set, the names of
// registers and functions.
func (j *job) prepare(c *cli.Command, f format, colour bool) error {
	a, ok := arch.ByName(j.file.Arch)
	if !ok {
		return inputErr(fmt.Errorf("%s: no port for %s", j.file.Path, j.file.Arch))
	}
	j.arch, j.text = a, f != formatBinary && f != formatCount
	j.w.env.Biased = j.file.Type == elf.ET_DYN // loaded anywhere
	err := j.w.fit(c, a)
	if err != nil {
		return err
	}
	if j.slot, err = parseSlot(c, a.Info().Bits); err != nil {
		return err
	}
	j.meta = fixups.Table{Arch: j.file.Arch, File: filepath.Base(j.file.Path), BuildID: j.file.BuildID, Base: uint64(j.file.Base),
		Layout: layoutOf(a)}
	j.enc = newEncoder(f, a, &j.meta, colour)
	return j.pick.resolve(c, j.file, a.Info().Bits)
}

// layoutOf is what a reader of a table must know of the instruction set.
func layoutOf(a reloc.Arch) fixups.Layout {
	info := a.Info()
	return fixups.Layout{Bits: uint8(info.Bits), Align: uint8(info.Align), Placing: info.Order(reloc.DataDefault)}
}

// picker says which sites are wanted.
type picker struct {
	addrs           map[uint64]bool // nil: all
	asked           []uint64        // addresses asked for by number, each must be met
	funcs           []objfile.Func  // nil: all
	returns         bool
	fixups, refused bool
}

// parsePicker reads the flags that need no file.
func parsePicker(c *cli.Command) (p picker, err error) {
	switch only := c.String("only"); only {
	case "":
	case "fixups":
		p.fixups = true
	case "refused":
		p.refused = true
	default:
		return p, usagef("--only: %q is not fixups or refused", only)
	}
	if c.IsSet("dead") && (!c.IsSet("addr") || c.Bool("entries") || c.Bool("sdt")) {
		return p, usagef("--dead needs --addr, alone: registers are dead at single sites")
	}
	if c.String("abi") == "entry" && !c.Bool("entries") && !c.IsSet("addr") {
		return p, usagef("--abi entry needs --entries or --addr: it holds at function entries only")
	}
	p.returns = c.Bool("returns")
	return p, nil
}

// resolve looks up names and addresses in the file.
func (p *picker) resolve(c *cli.Command, file *objfile.File, bits int) error {
	for _, name := range c.StringSlice("func") {
		fns, err := file.Lookup(name)
		if err != nil {
			return inputErr(err)
		}
		p.funcs = append(p.funcs, fns...)
	}
	return firstErr(p.parseAddrs(c, bits), p.checkEntries(c, file), p.parseEntries(c, file), p.parseSDT(c, file))
}

// hasFunc reports whether sites of fn are wanted.
func (p *picker) hasFunc(fn objfile.Func) bool {
	return p.funcs == nil || slices.ContainsFunc(p.funcs, func(f objfile.Func) bool { return f.Addr == fn.Addr })
}

// checkEntries holds --abi entry to its word: what is dead at an entry is asked
// for at entries only.
func (p *picker) checkEntries(c *cli.Command, file *objfile.File) error {
	if c.String("abi") != "entry" || len(p.asked) == 0 {
		return nil
	}
	entries, err := file.Entries()
	if err != nil {
		return inputErr(err)
	}
	for _, a := range p.asked {
		if !slices.ContainsFunc(entries, func(e objfile.Entry) bool { return uint64(e.Addr) == a }) {
			return usagef("--abi entry: %#x is not the entry of a function", a)
		}
	}
	return nil
}

func (p *picker) add(a uint64) {
	if p.addrs == nil {
		p.addrs = map[uint64]bool{}
	}
	p.addrs[a] = true
}

func (p *picker) parseAddrs(c *cli.Command, bits int) error {
	for _, s := range c.StringSlice("addr") {
		a, err := parseAddr("--addr", s, bits)
		if err != nil {
			return err
		}
		p.add(a)
		p.asked = append(p.asked, a)
	}
	return nil
}

func (p *picker) parseEntries(c *cli.Command, file *objfile.File) error {
	if !c.Bool("entries") {
		return nil
	}
	entries, err := file.Entries()
	if err != nil {
		return inputErr(err)
	}
	for _, e := range entries {
		p.add(uint64(e.Addr))
	}
	return nil
}

func (p *picker) parseSDT(c *cli.Command, file *objfile.File) error {
	if !c.Bool("sdt") {
		return nil
	}
	if p.addrs == nil {
		p.addrs = map[uint64]bool{}
	}
	for probe, err := range file.SDT() {
		if err != nil {
			return inputErr(err)
		}
		p.add(uint64(probe.PC))
	}
	return nil
}

// ofTails are hazards that a plain copy has only by the way its slot is left.
const ofTails = fixups.Hazards(1<<fixups.HazardLandingPad | 1<<fixups.HazardShadowStack)

// wants reports whether the site belongs into the output.
func (p *picker) wants(e *fixups.Entry) bool {
	switch {
	case p.addrs != nil && !p.addrs[e.PC]:
		return false
	case p.returns && e.Class != fixups.ClassReturn:
		return false
	case p.fixups:
		return e.Class != fixups.ClassPlain || e.Hazards&^ofTails != 0
	case p.refused:
		return !hasPlan(e)
	}
	return true
}
