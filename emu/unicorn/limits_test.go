package unicorn

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// TestDefined runs every opcode of the legacy maps, with the prefixes that
// choose among instructions, with memory and with registers: what the port
// decodes is executed by the emulator or has a row in the capability table.
func TestDefined(t *testing.T) {
	for _, a := range []reloc.Arch{x86.AMD64, x86.I386} {
		t.Run(a.Info().Name, func(t *testing.T) {
			w, err := emu.NewWorker(Oracle, a.Info(), 3)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			missing, ran := map[string]int{}, 0
			sweep(a.Info().Bits == 64, func(name string, code []byte) {
				if kind, ok := tryDefined(t, w, a, code); ok {
					ran++
					if kind != "" {
						missing[name+" "+kind]++
						if missing[name+" "+kind] == 1 {
							t.Errorf("%s: % x: %s", name, code, kind)
						}
					}
				}
			})
			t.Logf("%d encodings executed", ran)
			if ran < 10000 {
				t.Errorf("only %d encodings executed", ran)
			}
		})
	}
}

// sweep calls f with one encoding of each opcode, mandatory prefix, W, and reg
// field, with a memory and a register operand.
func sweep(m64 bool, f func(name string, code []byte)) {
	maps := [][]byte{{}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}}
	for m, escape := range maps {
		for op := range 256 {
			for _, prefix := range [][]byte{{}, {0x66}, {0xf3}, {0xf2}} {
				for modrm := range 16 {
					for w := range 2 {
						if w == 1 && !m64 {
							continue
						}
						code := append([]byte{}, prefix...)
						if w == 1 {
							code = append(code, 0x48)
						}
						code = append(code, escape...)
						code = append(code, byte(op), byte(modrm&7<<3|modrm>>3*0xc0|3))
						code = append(code, 0, 1, 0, 0, 0, 0, 0, 0, 0)
						f(fmt.Sprintf("map %d op %02x/%d prefix %x", m, op, modrm&7, prefix), code)
					}
				}
			}
		}
	}
}

// tryDefined executes code once. ok is false if there is nothing to execute or
// a row of the table says that it is not.
func tryDefined(t *testing.T, w *emu.Worker, a reloc.Arch, code []byte) (kind string, ok bool) {
	pc, _, err := w.NextSite()
	if err != nil {
		t.Fatal(err)
	}
	var in reloc.Insn
	if reloc.Analyze(&in, a, code, pc, nil) != nil {
		return "", false
	}
	if err := w.Site(&in); err != nil {
		t.Fatal(err)
	}
	if l := w.Limit(fixups.FormJump); l != nil && l.Verdict == emu.Unsupported {
		return "", false
	}
	if err := w.States(2); err != nil {
		t.Fatal(err)
	}
	for _, s := range w.SiteStops() {
		switch s.Kind {
		case emu.StopInvalid, emu.StopHalt, emu.StopError:
			return s.Kind.String(), true
		}
	}
	return "", true
}

// ending is the end of one run of a sample.
type ending struct {
	t       *emu.Target
	in, out []uint64
	pc      uint64
	size    int
	stop    emu.Stop
}

func (e *ending) word(name string) (in, out uint64) {
	for i := range e.t.Words {
		if e.t.Words[i].Name == name {
			return e.in[i], e.out[i]
		}
	}
	return 0, 0
}

func (e *ending) sp() string {
	if e.t.Bits == 32 {
		return "esp"
	}
	return "rsp"
}

// wrongOf returns what says why the sample of a row is not executed as a processor
// would, nil if it is simply refused.
func wrongOf(target *emu.Target, row string) func(e *ending) string {
	switch target.Arch {
	case "amd64", "386":
		return wrong[row]
	case "arm64":
		return wrongA64[row]
	}
	return wrongPower[row]
}

// executed: what is privileged does not fault.
func executed(e *ending) string {
	if e.stop.Kind == emu.StopLimit {
		return "it is executed"
	}
	return ""
}

var wrongPower = map[string]func(e *ending) string{
	"privileged":      executed,
	"maddld-reserved": executed,
	"darn": func(e *ending) string {
		if in, out := e.word("r0"); in != out {
			return "the number is not a function of the state"
		}
		return ""
	},
}

var wrongA64 = map[string]func(e *ending) string{
	"privileged": executed,
	"counters": func(e *ending) string {
		if in, out := e.word("x0"); in != out {
			return "the time is not a function of the state"
		}
		return ""
	},
	"random-numbers": func(e *ending) string {
		if in, out := e.word("x0"); in != out {
			return "the number is not a function of the state"
		}
		return ""
	},
}

// wrong says for each row of x86 that is not simply refused why what the emulator
// did is not what a processor does; "" if it is.
var wrong = map[string]func(e *ending) string{
	"vex": func(e *ending) string {
		if _, got := e.word("xmm0.0"); got != pair(3, 3) {
			return fmt.Sprintf("vaddps of 1 and 2 is %#x", got)
		}
		return ""
	},
	"void-rex": func(e *ending) string {
		if in, out := e.word("r11"); in != out {
			return "the ignored prefix chose r11"
		}
		return ""
	},
	"xop": func(e *ending) string {
		if in, out := e.word(e.sp()); in != out {
			return "runs as pop"
		}
		return ""
	},
	"kernel-entry": func(e *ending) string {
		if _, rcx := e.word("rcx"); rcx != e.pc+2 {
			return "rcx is not the return address"
		}
		return ""
	},
	"privileged": func(e *ending) string {
		if e.stop.Kind == emu.StopLimit {
			return "cli does not fault"
		}
		return ""
	},
	"transaction": func(e *ending) string {
		if _, pc := e.word("pc"); pc != e.pc+6+16 {
			return "the transaction is not aborted"
		}
		return ""
	},
	"rdtsc":  timeMoves,
	"rdtscp": timeMoves,
	"popf": func(e *ending) string {
		if in, out := e.word("flags"); in&0x200 != out&0x200 {
			return "user code changed the interrupt flag"
		}
		return ""
	},
	"ret-imm16": func(e *ending) string {
		if in, out := e.word(e.sp()); out-in != uint64(e.t.Bits/8)+0x8000 {
			return fmt.Sprintf("the stack pointer moves by %#x", out-in)
		}
		return ""
	},
	"fnstsw-ax": fipChanges,
	"movsxd-16": func(e *ending) string {
		if e.stop.Kind == emu.StopFault {
			return "reads behind the two bytes that are there"
		}
		return ""
	},
	"fneni":     fipChanges,
	"fndisi":    fipChanges,
	"fnsetpm":   fipChanges,
	"fs-and-cs": noSegment,
	"gs-and-cs": noSegment,
	"66-f2-0f10": func(e *ending) string {
		if in, out := e.word("xmm0.1"); in != out {
			return "movsd writes all of the register"
		}
		return ""
	},
	"shld-rip":  oneLow,
	"shrd-rip":  oneLow,
	"3dnow-rip": oneLow,
}

func fipChanges(e *ending) string {
	if in, out := e.word("fip"); in != out {
		return "fip changes"
	}
	return ""
}

// noSegment: the samples load from [rbx] with a segment base that leads nowhere.
func noSegment(e *ending) string {
	if e.stop.Kind != emu.StopFault {
		return "the segment base is not added"
	}
	return ""
}

// timeMoves: a second run would have to read the same, and does not. The first
// has left its value in rax.
func timeMoves(e *ending) string {
	name := "rax"
	if e.t.Bits == 32 {
		name = "eax"
	}
	if in, out := e.word(name); in != out {
		return "the time is not a function of the state"
	}
	return ""
}

// oneLow: samples name the address 0x100 behind them, in code that cannot be
// written or, for 3DNow, read one byte too early.
func oneLow(e *ending) string {
	if want := e.pc + uint64(e.size) + 0x100; e.stop.Kind == emu.StopFault && e.stop.Addr != want {
		return fmt.Sprintf("faults at %#x instead of %#x", e.stop.Addr, want)
	}
	if _, got := e.word("st1.0"); e.stop.Kind == emu.StopLimit && got != 0x4000000040000000 {
		return fmt.Sprintf("adds another number: %#x", got)
	}
	return ""
}

func pair(lo, hi float32) uint64 {
	return uint64(math.Float32bits(lo)) | uint64(math.Float32bits(hi))<<32
}

// TestLimits executes the sample of each row: the emulator refuses it, or what
// it does is wrong. A row without need would hide instructions from comparison.
func TestLimits(t *testing.T) {
	for _, target := range targets() {
		e := newSampler(t, target)
		for _, row := range limits[target.Arch] {
			if row.Sample == "" {
				continue
			}
			if target.Bits == 32 && row.Name == "kernel-entry" {
				continue // syscall is the vendor's matter in 32-bit mode
			}
			t.Run(target.Arch+"/"+row.Name, func(t *testing.T) {
				code := sample(t, target, row.Sample)
				if key := target.Key(code); key&row.Mask != row.Value {
					t.Fatalf("the row does not match its sample: key %#x", key)
				}
				e := e.run(t, code)
				switch f := wrongOf(target, row.Name); {
				case f != nil:
					why := f(e)
					if why == "" {
						t.Errorf("the emulator is right about % x: %+v", code, e.stop)
					}
					t.Log(why)
				case e.stop.Kind == emu.StopInvalid, e.stop.Kind == emu.StopException, e.stop.Kind == emu.StopHalt:
				default:
					t.Errorf("% x is executed: %+v", code, e.stop)
				}
			})
		}
	}
}

// sample is the code of a row's sample: bytes, or words as manuals print them.
func sample(t *testing.T, target *emu.Target, s string) []byte {
	code := unhex(t, s)
	if target.Arch == "arm64" || target.Arch == "ppc64le" {
		for i := 0; i < len(code); i += 4 {
			slices.Reverse(code[i : i+4])
		}
	}
	return code
}

// sampler is an engine for samples: opening one takes longer than all of them.
type sampler struct {
	e    *engine
	code *emu.Page
}

func newSampler(t *testing.T, target *emu.Target) *sampler {
	e := mustOpen(t, target)
	p, err := e.Map(target.Sites[0].Addr, 4096, emu.ProtRead|emu.ProtExec, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Map(target.Sites[0].Data, 4096, emu.ProtRead|emu.ProtWrite, true); err != nil {
		t.Fatal(err)
	}
	return &sampler{e, p}
}

// run executes code twice from a fixed state and returns the second end.
func (s *sampler) run(t *testing.T, code []byte) *ending {
	e, p := s.e, s.code
	target := e.t
	site, data := target.Sites[0], target.Sites[0].Data
	target.FillAt(p.Live, p.Addr)
	copy(p.Live, code)
	if err := e.Forget(p.Addr, len(p.Live)); err != nil {
		t.Fatal(err)
	}
	// Where a rip-relative sample finds its operand: 1.0 and 1.0.
	for i := range 2 {
		copy(p.Live[len(code)+0x100+4*i:], []byte{0, 0, 0x80, 0x3f})
	}
	n := len(target.Words)
	b := emu.Batch{Lo: site.Addr, Hi: site.Addr, Limit: 1, N: 1, In: make([]uint64, n), Out: make([]uint64, n),
		InFirst: make([]uint32, 2), Stops: make([]emu.Stop, 1)}
	for i := range target.Words {
		switch w := &target.Words[i]; {
		case w.Name == "pc":
			b.In[i] = site.Addr
		case w.General:
			b.In[i] = data + 0x800
		case strings.HasSuffix(w.Name, "sbase"):
			b.In[i] = 0x40000000
		case strings.HasPrefix(w.Name, "st"):
			b.In[i] = pair(1, 1)
		case strings.HasPrefix(w.Name, "xmm0"):
			b.In[i] = pair(4, 4)
		case strings.HasPrefix(w.Name, "xmm1"):
			b.In[i] = pair(1, 1)
		case strings.HasPrefix(w.Name, "xmm2"):
			b.In[i] = pair(2, 2)
		default:
			b.In[i] = w.Value
		}
	}
	for round := range 2 {
		if round == 1 {
			b.In[0] = b.Out[0] // rax, for what reads the time
		}
		if err := e.Run(&b); err != nil {
			t.Fatal(err)
		}
	}
	return &ending{t: target, in: b.In, out: b.Out, pc: site.Addr, size: len(code), stop: b.Stops[0]}
}

// ends are encodings that the emulator's process does not survive, with the row
// that keeps it from them; such rows have no sample.
var ends = []struct {
	arch, row, code string
	first, second   uint64 // words 0 and 1
}{
	{"amd64", "pcmpestr", "660f3a60c100f4", 0x80000000, 0x80000000}, // the most negative length
	{"arm64", "half-three-005", "0e422c20", 0, 0},
	{"arm64", "half-three-013", "0ec21c20", 0, 0},
	{"arm64", "half-three-014", "0ec22420", 0, 0},
	{"arm64", "half-three-015", "0ec22c20", 0, 0},
	{"arm64", "half-three-101", "2e420c20", 0, 0},
	{"arm64", "half-three-111", "2ec20c20", 0, 0},
	{"arm64", "half-three-113", "2ec21c20", 0, 0},
	{"arm64", "half-three-117", "2ec23c20", 0, 0},
	{"arm64", "half-two-00xxx", "0e780820", 0, 0},
	{"arm64", "half-two-010xx", "0e788820", 0, 0},
	{"arm64", "half-two-10xxx", "0e790820", 0, 0},
	{"arm64", "half-two-011xx", "0e78c820", 0, 0},
	{"arm64", "half-two-01110", "2ef8e820", 0, 0},
	{"arm64", "half-two-11110", "0e79e820", 0, 0},
	{"arm64", "half-two-11111", "0e79f820", 0, 0},
	{"arm64", "half-two-11111-0", "0ef9f820", 0, 0},
	{"arm64", "half-two-11100", "0ef9c820", 0, 0},
	{"arm64", "half-two-11000", "2ef98820", 0, 0},
	{"arm64", "half-two-scalar-01111", "5ef8f820", 0, 0},
	{"arm64", "half-two-scalar-11111", "7ef9f820", 0, 0},
	{"ppc64", "mftb", "7c6c42e6", 0, 0},  // mftb r3
	{"ppc64", "mfspr", "7c7602a6", 0, 0}, // the decrementer
}

// TestProcessEnds proves the rows without a sample.
func TestProcessEnds(t *testing.T) {
	for _, tt := range ends {
		t.Run(tt.arch+"/"+tt.row, func(t *testing.T) {
			target, err := emu.TargetOf(tt.arch)
			if err != nil {
				t.Fatal(err)
			}
			code := sample(t, target, tt.code)
			if l := emu.AppendLimits(nil, target, limits[tt.arch], code, nil); len(l) == 0 || l[0].Name != tt.row {
				t.Fatalf("%s: the row does not match", tt.code)
			}
			if os.Getenv("XOL_PROCESS_ENDS") != "" {
				runOnce(t, target, code, tt.first, tt.second)
				return
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestProcessEnds$/^"+tt.arch+"$/^"+tt.row+"$")
			cmd.Env = append(os.Environ(), "XOL_PROCESS_ENDS=1")
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("the emulator survives; the row can go:\n%s", out)
			}
		})
	}
}

// runOnce executes code from a state with two words set.
func runOnce(t *testing.T, target *emu.Target, code []byte, first, second uint64) {
	e := mustOpen(t, target)
	site := target.Sites[0].Addr
	p, err := e.Map(site, 4096, emu.ProtRead|emu.ProtExec, false)
	if err != nil {
		t.Fatal(err)
	}
	target.FillAt(p.Live, site)
	copy(p.Live, code)
	b := emu.Batch{Lo: site, Hi: site, Limit: 1, N: 1, In: target.Plain(), Out: target.Plain(),
		InFirst: make([]uint32, 2), Stops: make([]emu.Stop, 1)}
	b.In[0], b.In[1], b.In[target.WordOf("pc")] = first, second, site
	_ = e.Run(&b)
}
