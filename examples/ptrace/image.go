//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/fixups/linux"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// image is what one exec has loaded, and the probes for it. Address spaces that
// came of each other by fork share it, since everything is where it was; which
// bytes are patched is a matter of each space.
type image struct {
	path    string // of the program
	entry   uint64 // where the program begins, behind the dynamic linker
	objects []*object
	probes  map[uint64]*probe // by address
	env     reloc.Env         // what is known of process and processor
}

// object is a program or a library in memory.
type object struct {
	path   string
	bias   uint64 // address in memory minus address in the file
	lo, hi uint64 // the executable segments
	slots  *region
	funcs  []*function // those that are probed or watched, by address
	file   *objfile.File
	skip   string // why it is left alone
}

// function is a function that was asked for.
type function struct {
	obj   *object
	name  string
	named bool       // by a pattern: probed from the start
	text  reloc.Text // address in memory, bytes as the file has them
	entry *probe     // watched: how often it is entered
	full  []*probe   // once each instruction has been looked at
	done  bool       // full is made
}

// probe is one site.
type probe struct {
	fn      *function
	addr    uint64
	slot    uint64 // 0: no plan to step
	code    []byte // the instruction; aliases the function's text
	emulate bool   // has a plan to emulate that the runner can run
	repeats bool   // one visit is many steps
	setsTF  bool   // may change the trap flag
	hits    uint64 // visits that were completed
	steps   uint64 // emulated or single-stepped, each iteration of a rep by itself
}

// relocate makes the plan of one form. It is made again at each hit, which costs
// less than a system call and no memory: what is kept of a site is where it is.
func (m *image) relocate(plan *reloc.Plan, p *probe, form fixups.Form) error {
	env := m.env
	env.Forms = form.Bit()
	env.Code = &p.fn.text
	env.Slots = reloc.SlotsNear
	return reloc.Relocate(plan, x86.AMD64, p.code, p.addr, &env)
}

// mapping is a line of /proc/PID/maps.
type mapping struct {
	start, end, off uint64
	exec            bool
	path            string
}

func readMaps(pid int) ([]mapping, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	var out []mapping
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		var m mapping
		var perm, dev string
		var inode uint64
		if _, err := fmt.Sscanf(s.Text(), "%x-%x %4s %x %s %d", &m.start, &m.end, &perm, &m.off, &dev, &inode); err != nil {
			return nil, fmt.Errorf("/proc/%d/maps: %q: %w", pid, s.Text(), err)
		}
		m.exec = perm[2] == 'x'
		if i := strings.IndexByte(s.Text(), '/'); i >= 0 && inode != 0 {
			m.path = s.Text()[i:]
		}
		out = append(out, m)
	}
	return out, nil
}

// loadImage finds the objects of a process: each file of which a part is mapped
// executable. entry is right as soon as the program itself is mapped, the list of
// libraries when the dynamic linker has done its work.
func loadImage(pid int) (*image, error) {
	maps, err := readMaps(pid)
	if err != nil {
		return nil, err
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil, err
	}
	m := &image{path: exe, probes: map[uint64]*probe{}, env: environment(pid)}
	byPath := map[string]*object{}
	for _, mp := range maps {
		if !mp.exec || mp.path == "" {
			continue
		}
		o := byPath[mp.path]
		if o == nil {
			o = openObject(pid, mp)
			byPath[mp.path] = o
			m.objects = append(m.objects, o)
		}
		o.lo, o.hi = min(o.lo, mp.start), max(o.hi, mp.end)
	}
	main := byPath[exe]
	if main == nil || main.file == nil {
		return nil, fmt.Errorf("%s: not an ELF program for amd64 whose code can be read", exe)
	}
	m.entry = uint64(main.file.Entry) + main.bias
	return m, nil
}

// openObject reads the file behind a mapping; what goes wrong is kept in skip.
func openObject(pid int, mp mapping) *object {
	o := &object{path: mp.path, lo: mp.start, hi: mp.end}
	// This name leads to the file that is mapped even if another has taken its place.
	f, err := objfile.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, mp.start, mp.end))
	if err != nil {
		f, err = objfile.Open(mp.path)
	}
	if err == nil {
		o.bias, err = f.BiasOf(objfile.RuntimeAddr(mp.start), objfile.FileOffset(mp.off))
	}
	switch {
	case err != nil:
		o.skip = err.Error()
	case f.Arch != "amd64" || f.X32:
		o.skip = "not amd64"
	default:
		o.file = f
	}
	return o
}

// environment is what the plans may count on.
func environment(pid int) reloc.Env {
	// Linux has no indirect branch tracking for programs.
	env := reloc.Env{IBT: reloc.Off, SHSTK: reloc.Off}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for _, line := range strings.Split(string(b), "\n") {
			if v, ok := strings.CutPrefix(line, "x86_Thread_features:"); ok && strings.Contains(v, "shstk") {
				env.SHSTK = reloc.On
			}
		}
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		switch {
		case bytes.Contains(b, []byte("GenuineIntel")):
			env.Vendor = reloc.VendorIntel
		case bytes.Contains(b, []byte("AuthenticAMD")):
			env.Vendor = reloc.VendorAMD
		}
	}
	return env
}

// choose makes the functions that cfg asks for. A pattern that matches nothing is
// an error: somebody mistyped it.
func (m *image) choose(cfg *config) error {
	used := make([]bool, len(cfg.funcs))
	for _, o := range m.objects {
		if o.file == nil {
			continue
		}
		funcs, err := o.file.Funcs()
		if err != nil {
			o.skip = err.Error()
			continue
		}
		hot := cfg.hot > 0 && m.watched(o, cfg)
		named := map[objfile.VAddr]bool{}
		for i, pat := range cfg.funcs {
			used[i] = o.matches(m, pat, funcs, named) || used[i]
		}
		for _, fn := range funcs {
			if !hot && !named[fn.Addr] {
				continue
			}
			code, err := o.file.Bytes(fn.Addr, fn.Size)
			if err != nil {
				return err
			}
			o.funcs = append(o.funcs, &function{obj: o, name: fn.Name, named: named[fn.Addr],
				text: reloc.Text{Addr: uint64(fn.Addr) + o.bias, Data: code}})
		}
	}
	for i, ok := range used {
		if !ok {
			return fmt.Errorf("no function matches %q", cfg.funcs[i])
		}
	}
	return nil
}

// watched reports whether the object's functions may become hot.
func (m *image) watched(o *object, cfg *config) bool {
	for _, pat := range cfg.objects {
		if pat == "main" && o.path == m.path {
			return true
		}
		if ok, _ := path.Match(pat, filepath.Base(o.path)); ok {
			return true
		}
	}
	return len(cfg.objects) == 0
}

// matches adds to named the functions that pat names: [OBJECT:]NAME, with the
// wildcards of path.Match, or [OBJECT:]0xADDRESS for the one that covers an
// address of the file. OBJECT is the base name of a library; without it, and by
// main, the program is meant.
func (o *object) matches(m *image, pat string, funcs []objfile.Func, named map[objfile.VAddr]bool) bool {
	obj, name, ok := strings.Cut(pat, ":")
	if !ok {
		obj, name = "main", pat
	}
	if ok, _ := path.Match(obj, filepath.Base(o.path)); !ok && (obj != "main" || o.path != m.path) {
		return false
	}
	before := len(named)
	if a, err := strconv.ParseUint(name, 0, 64); err == nil {
		if fn, err := o.file.FuncAt(objfile.VAddr(a)); err == nil {
			named[fn.Addr] = true
		}
	} else if !strings.ContainsAny(name, `*?[\`) { // aliases too
		list, _ := o.file.Lookup(name)
		for _, fn := range list {
			named[fn.Addr] = true
		}
	}
	for _, fn := range funcs {
		if ok, _ := path.Match(name, fn.Name); ok {
			named[fn.Addr] = true
		}
	}
	return len(named) > before
}

func (fn *function) String() string {
	name := fn.name
	if name == "" {
		name = fmt.Sprintf("%#x", fn.text.Addr-fn.obj.bias)
	}
	return filepath.Base(fn.obj.path) + ":" + name
}

// site plans one instruction. It returns nil and counts why if there is no plan
// in a form that was asked for.
func (t *tracer) site(m *image, fn *function, in *reloc.Insn) *probe {
	addr := in.PC
	if p := m.probes[addr]; p != nil {
		return p
	}
	off := addr - fn.text.Addr
	p := &probe{fn: fn, addr: addr, code: fn.text.Data[off : off+uint64(in.Len)], repeats: in.Hazards.Has(fixups.HazardRepeats), setsTF: in.Hazards.Has(fixups.HazardChangesTF)}
	if reason := t.planSite(m, p); reason != fixups.ReasonNone {
		t.count.refused[reason]++
		return nil
	}
	m.probes[addr] = p
	t.count.sites++
	if p.emulate {
		t.count.canEmulate++
	}
	if p.slot != 0 {
		t.count.canStep++
	}
	return p
}

// planSite finds out which forms p has. A site that is to be emulated gets a slot
// as well: where an access fails, a stepped copy makes the fault happen.
func (t *tracer) planSite(m *image, p *probe) fixups.Reason {
	switch c := p.code; {
	case c[0] == int3, c[0] == 0xcd && c[1] == 3, c[0] == 0xf1:
		return fixups.ReasonForeignBreakpoint // its SIGTRAP is the program's own
	}
	emulate := fixups.ReasonNone
	if t.cfg.form != "step" {
		emulate = reloc.ReasonOf(m.relocate(&t.plan, p, fixups.FormEmulate))
		p.emulate = emulate == fixups.ReasonNone && runnable(&t.plan, t.plan.Emulate)
	}
	if t.cfg.form == "emulate" && !p.emulate {
		return max(emulate, fixups.ReasonUnknown)
	}
	step := t.slot(m, p)
	if p.emulate {
		return fixups.ReasonNone
	}
	return step
}

// slot plans the step form of p and gives it a slot.
func (t *tracer) slot(m *image, p *probe) fixups.Reason {
	if err := m.relocate(&t.plan, p, fixups.FormStep); err != nil {
		return reloc.ReasonOf(err)
	}
	if !runnable(&t.plan, t.plan.Pre) || !runnable(&t.plan, t.plan.Post) || !runnable(&t.plan, t.plan.Abort) || t.plan.SlotAlign > unit {
		return fixups.ReasonNoScratch
	}
	slot, ok := p.fn.obj.slots.alloc(p, len(t.plan.Code))
	if !ok {
		return fixups.ReasonNoRoom
	}
	if !t.plan.Holds(int64(slot - p.addr)) {
		return fixups.ReasonNoReach
	}
	p.slot = slot
	return fixups.ReasonNone
}

// runnable reports whether a program finds its registers in what GETREGS gives.
// The runner has no shadow stack to offer; where one is on, plans say that they
// need it.
func runnable(plan *reloc.Plan, prog fixups.Program) bool {
	return plan.Needs&(fixups.NeedsShadowStack) == 0 && linux.Serves(prog, linux.AMD64UserRegs)
}

// watch makes the probe at which entries of fn are counted: at its first
// instruction that has a plan, if all of those before it run straight on.
func (t *tracer) watch(m *image, fn *function) {
	var in reloc.Insn
	for off := 0; off < len(fn.text.Data); off += int(in.Len) {
		if x86.AMD64.Decode(&in, fn.text.Data[off:], fn.text.Addr+uint64(off)) != nil {
			return
		}
		if fn.entry = t.site(m, fn, &in); fn.entry != nil {
			return
		}
		if in.Class != fixups.ClassPlain && in.Class != fixups.ClassPCRelative {
			return
		}
	}
}

// fill plans every instruction of fn.
func (t *tracer) fill(m *image, fn *function) error {
	if fn.done {
		return nil
	}
	fn.done = true
	f, err := fn.obj.file.FuncAt(objfile.VAddr(fn.text.Addr - fn.obj.bias))
	if err != nil {
		return err
	}
	for in, err := range fn.obj.file.Insns(f, x86.AMD64) {
		if err != nil {
			bad, ok := errors.AsType[*objfile.InsnError](err)
			if !ok {
				return err
			}
			t.count.refused[reloc.ReasonOf(bad.Err)]++
			continue
		}
		in.PC += fn.obj.bias
		if p := t.site(m, fn, in); p != nil {
			fn.full = append(fn.full, p)
		}
	}
	t.count.functions++
	return nil
}
