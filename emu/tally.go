package emu

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Tally counts the outcomes of many comparisons.
type Tally struct {
	Sites   int // instructions that were executed
	Refused int // forms refused, each with its reason: nothing to compare
	Plans   int // plans compared, each at one slot

	Verdicts                                   [4]int                   // of plans
	ByClass                                    map[fixups.Class]*[4]int // of plans
	ByForm                                     map[fixups.Form]*[4]int  // of plans
	Limits                                     map[string]int           // sites by row of the capability table
	Samples                                    map[string][]byte        // the first instruction that met a row
	Reasons                                    map[fixups.Reason]int    // refusals
	States, Faults, Points, Skipped, Undecided int

	Diffs []*Diff // the first mismatches
}

// maxDiffs is how many mismatches are kept.
const maxDiffs = 40

// Mismatches is the number of plans that were wrong.
func (t *Tally) Mismatches() int { return t.Verdicts[Mismatch] }

func bump[K comparable](m *map[K]*[4]int, k K, v Verdict) {
	if *m == nil {
		*m = map[K]*[4]int{}
	}
	if (*m)[k] == nil {
		(*m)[k] = new([4]int)
	}
	(*m)[k][v]++
}

// Add counts one result.
func (t *Tally) Add(r *Result, p *fixups.Plan, class fixups.Class) {
	t.Plans++
	t.Verdicts[r.Verdict]++
	bump(&t.ByClass, class, r.Verdict)
	bump(&t.ByForm, p.Form, r.Verdict)
	t.States += r.States
	t.Faults += r.Faults
	t.Points += r.Points
	t.Skipped += r.Skipped
	t.Undecided += r.Undecided
	if r.Diff == nil || len(t.Diffs) == maxDiffs {
		return
	}
	if n := len(t.Diffs); n > 0 && t.Diffs[n-1].PC == r.Diff.PC && bytes.Equal(t.Diffs[n-1].Bytes, r.Diff.Bytes) {
		return // one a site is enough
	}
	t.Diffs = append(t.Diffs, r.Diff)
}

// Note counts a site of which something is not judged, for a reason of the caller's.
func (t *Tally) Note(name string, code []byte) { t.limit(name, code) }

func (t *Tally) limit(name string, code []byte) {
	if t.Limits == nil {
		t.Limits, t.Samples = map[string]int{}, map[string][]byte{}
	}
	t.Limits[name]++
	if t.Samples[name] == nil {
		t.Samples[name] = bytes.Clone(code)
	}
}

func (t *Tally) refuse(r fixups.Reason) {
	if t.Reasons == nil {
		t.Reasons = map[fixups.Reason]int{}
	}
	t.Refused++
	t.Reasons[r]++
}

// Merge adds the counts of o.
func (t *Tally) Merge(o *Tally) {
	t.Sites += o.Sites
	t.Plans += o.Plans
	t.Refused += o.Refused
	for v := range o.Verdicts {
		t.Verdicts[v] += o.Verdicts[v]
	}
	mergeCounts(&t.ByClass, o.ByClass)
	mergeCounts(&t.ByForm, o.ByForm)
	for k, n := range o.Limits {
		t.limit(k, o.Samples[k])
		t.Limits[k] += n - 1
	}
	for k, n := range o.Reasons {
		t.refuse(k)
		t.Refused--
		t.Reasons[k] += n - 1
	}
	t.States += o.States
	t.Faults += o.Faults
	t.Points += o.Points
	t.Skipped += o.Skipped
	t.Undecided += o.Undecided
	t.Diffs = append(t.Diffs, o.Diffs[:min(len(o.Diffs), maxDiffs-len(t.Diffs))]...)
}

func mergeCounts[K comparable](m *map[K]*[4]int, o map[K]*[4]int) {
	for k, n := range o {
		for v := range n {
			for range n[v] {
				bump(m, k, Verdict(v))
			}
		}
	}
}

// WriteTo prints the counts, one line each.
func (t *Tally) WriteTo(out io.Writer) (int64, error) {
	c := &counter{w: out}
	fmt.Fprintf(c, "sites %d, plans compared %d, forms refused %d\n", t.Sites, t.Plans, t.Refused)
	for v, n := range t.Verdicts {
		fmt.Fprintf(c, "%-12v %d\n", Verdict(v), n)
	}
	fmt.Fprintf(c, "states %d, of them faults %d, more stack %d, undecided %d; interruptions %d\n", t.States, t.Faults, t.Skipped, t.Undecided, t.Points)
	for _, k := range slices.Sorted(maps.Keys(t.ByClass)) {
		n := t.ByClass[k]
		fmt.Fprintf(c, "class %-16v match %d, mismatch %d, unsupported %d, suspect %d\n", k, n[0], n[1], n[2], n[3])
	}
	for _, k := range slices.Sorted(maps.Keys(t.ByForm)) {
		n := t.ByForm[k]
		fmt.Fprintf(c, "form %-9v match %d, mismatch %d, unsupported %d, suspect %d\n", k, n[0], n[1], n[2], n[3])
	}
	for _, k := range slices.Sorted(maps.Keys(t.Limits)) {
		fmt.Fprintf(c, "limit %-24s %d\n", k, t.Limits[k])
	}
	for _, k := range slices.Sorted(maps.Keys(t.Reasons)) {
		fmt.Fprintf(c, "refused %-20v %d\n", k, t.Reasons[k])
	}
	return c.n, c.err
}

type counter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// Options say how thoroughly a site is judged.
type Options struct {
	States     int  // from each of which site and copy run
	Interrupt  int  // in how many of them the copy is also interrupted everywhere
	Placements int  // slots per plan; 0: one in every arena that the plan reaches
	Everywhere bool // Verify: each instruction in every site arena
}

// Judge makes every plan that the environments allow for in, which stands where
// [Worker.Site] or [Worker.SiteAt] put it, and compares each with the site.
func (w *Worker) Judge(t *Tally, a reloc.Arch, in *reloc.Insn, envs []reloc.Env, opt Options) error {
	made := false
	limits := w.seen[:0]
	for i := range envs {
		from := in
		if envs[i].Biased {
			from = &w.linked
			if err := reloc.Analyze(from, a, in.Raw(), linkAddress(in.PC), nil); err != nil {
				t.refuse(reloc.ReasonOf(err))
				continue
			}
		}
		w.verdicts = reloc.Verdicts(w.verdicts, a, from, &envs[i], false)
		for k := range w.verdicts {
			v := &w.verdicts[k]
			if v.Reason != fixups.ReasonNone {
				t.refuse(v.Reason)
				continue
			}
			l := w.Limit(v.Form)
			if l != nil && !l.Refused && !slices.Contains(limits, l.Name) {
				limits = append(limits, l.Name)
				t.limit(l.Name, in.Raw())
			}
			if l != nil && l.Verdict == Unsupported {
				t.Add(&Result{Verdict: Unsupported, Limit: l.Name}, &v.Plan, in.Class)
				continue // by the table, before anything runs
			}
			if w.vendor != reloc.VendorUnknown && in.Hazards.Has(fixups.HazardVendor) && envs[i].Vendor != w.vendor {
				if !slices.Contains(limits, otherVendor) {
					limits = append(limits, otherVendor)
					t.limit(otherVendor, in.Raw())
				}
				t.Add(&Result{Verdict: Unsupported, Limit: otherVendor}, &v.Plan, in.Class)
				continue
			}
			if !made {
				if err := w.States(opt.States); err != nil {
					return err
				}
				made = true
				t.Sites++
			}
			w.seen = limits
			if err := w.judgePlan(t, in, &v.Plan, &envs[i], opt); err != nil {
				return err
			}
			limits = w.seen
		}
	}
	w.seen = limits
	return nil
}

// otherVendor is the row of a plan for the processors of another maker.
const otherVendor = "other-vendor"

// linkAddress is where an object file would have what runs at pc: in its first
// megabyte, a load bias of whole pages away. A plan that is made there, and
// placed for pc, shows whether it depends on where the site is.
func linkAddress(pc uint64) uint64 { return pc & 0xfffff }

func (w *Worker) judgePlan(t *Tally, in *reloc.Insn, p *fixups.Plan, env *reloc.Env, opt Options) error {
	reaches := w.Reaches(p)
	if n := opt.Placements; n > 0 && n < len(reaches) {
		for i := range n {
			j := i + w.rnd.below(len(reaches)-i)
			reaches[i], reaches[j] = reaches[j], reaches[i]
		}
		reaches = reaches[:n]
	}
	for _, arena := range reaches {
		var r Result
		err := w.Check(&r, p, env, Placement{Arena: arena, Interrupt: opt.Interrupt})
		if errors.Is(err, fixups.ErrReach) && env.Biased && p.Far {
			t.Add(w.immovable(p, err), p, in.Class)
			continue
		}
		if errors.Is(err, fixups.ErrReach) {
			// The reach is about the slot alone; a field may still be too far from
			// what it names.
			t.refuse(fixups.ReasonNoReach)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s %#x %x as %v: %w", w.t.Arch, in.PC, in.Raw(), p.Form, err)
		}
		t.Add(&r, p, in.Class)
		if l := w.Limit(p.Form); r.Limit != "" && (l == nil || l.Refused) && !slices.Contains(w.seen, r.Limit) {
			w.seen = append(w.seen, r.Limit)
			t.limit(r.Limit, in.Raw())
		}
	}
	return nil
}

// immovable is the result of a far plan, made for addresses of an object file,
// that cannot be placed where the object was loaded.
func (w *Worker) immovable(p *fixups.Plan, err error) *Result {
	d := &Diff{Arch: w.t.Arch, PC: w.site.pc, Bytes: bytes.Clone(w.site.code), Form: p.Form,
		List: []Difference{{What: "load bias", Text: err.Error()}}}
	return &Result{Verdict: Mismatch, Diff: d}
}
