package unicorn

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Plans by hand for the instruction sets with words, as in compare_test.go.

var fixedInfos = map[string]*reloc.Info{"arm64": arm64.A64.Info(), "ppc64": ppc64.BE.Info(), "ppc64le": ppc64.LE.Info()}

// words turns instruction words, as manuals print them, into bytes.
func words(t testing.TB, info *reloc.Info, s string) []byte {
	t.Helper()
	var b []byte
	for f := range strings.FieldsSeq(s) {
		v, err := strconv.ParseUint(f, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		if info.InsnOrder == fixups.BigEndian {
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		} else {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	return b
}

// fixedPlan is code, then a branch to site + to. Each word of code is a point that
// goes back, the branch one that goes forward.
func fixedPlan(t testing.TB, info *reloc.Info, siteLen int, code []byte, to int64) *fixups.Plan {
	n := len(code)
	p := &fixups.Plan{Form: fixups.FormJump, SiteLen: uint8(siteLen), Reach: fixups.Reach{Min: info.NearMin, Max: info.NearMax, Align: 4}}
	branch, r := "14000000", fixups.Reloc{Off: uint16(n), Size: 4, Bits: 26, Shift: 2}
	if info.Name != "arm64" {
		branch, r = "48000000", fixups.Reloc{Off: uint16(n), Size: 4, Bits: 24, Lsb: 2, Shift: 2}
	}
	r.Base, r.Addend, r.PCRel, r.Check, r.Order = fixups.BaseSite, to, true, fixups.CheckSigned, fixups.OrderInsn
	p.Code = append(append(p.Code, code...), words(t, info, branch)...)
	p.Relocs = []fixups.Reloc{r}
	for b := 0; b < n; b += 4 {
		p.Points = append(p.Points, fixups.Point{Off: uint16(b), Back: setPC(fixups.SitePlus(0)), HasBack: true})
	}
	p.Points = append(p.Points, fixups.Point{Off: uint16(n), State: fixups.StateDone, Forward: setPC(fixups.SitePlus(to)), HasForward: true})
	return p
}

// fixedTests: code "-" is none but the branch.
var fixedTests = []struct {
	name, arch string
	site, code string
	to         int64 // 0: behind the site
	want       emu.Verdict
	what       string
	faults     bool
}{
	{name: "add", arch: "arm64", site: "8b020020"},
	{name: "adds", arch: "arm64", site: "ab020020"},
	{name: "ldr", arch: "arm64", site: "f9400421", faults: true},
	{name: "ldr register", arch: "arm64", site: "f8627820", faults: true},
	{name: "ldp", arch: "arm64", site: "a8c17bfd"},
	{name: "stp", arch: "arm64", site: "a9bf7bfd"},
	{name: "ldr q", arch: "arm64", site: "3dc00c41", faults: true},
	{name: "st1", arch: "arm64", site: "4c007040", faults: true},
	{name: "ld4", arch: "arm64", site: "4cdf0040", faults: true},
	{name: "fadd", arch: "arm64", site: "1e602820"},
	{name: "fmla", arch: "arm64", site: "4e22cc20"},
	{name: "ldadd", arch: "arm64", site: "f8210041", faults: true},
	{name: "casal", arch: "arm64", site: "c8e0fc41", faults: true},
	{name: "ldxr", arch: "arm64", site: "c85f7c41", faults: true},
	{name: "pacia", arch: "arm64", site: "dac10020"},
	{name: "aese", arch: "arm64", site: "4e284820"},
	{name: "sha256h", arch: "arm64", site: "5e024020"},
	{name: "csel", arch: "arm64", site: "9a820020"},
	{name: "b", arch: "arm64", site: "14000100", code: "-", to: 0x400},
	{name: "wrong target", arch: "arm64", site: "14000100", code: "-", to: 0x404, want: emu.Mismatch, what: "pc"},
	{name: "adr", arch: "arm64", site: "10000000", want: emu.Mismatch, what: "x0"},
	{name: "wrong flags", arch: "arm64", site: "8b020020", code: "ab020020", want: emu.Mismatch, what: "flags"},
	{name: "wrong vector", arch: "arm64", site: "4ea11c20", code: "4ea21c40", want: emu.Mismatch, what: "v0"},
	{name: "upper half", arch: "arm64", site: "4ea21c40", code: "0ea21c40", want: emu.Mismatch, what: "v0.1"},
	{name: "wrong memory", arch: "arm64", site: "39000041", code: "39000441", want: emu.Mismatch},
	{name: "wrong direction", arch: "arm64", site: "39400041", code: "39000041", want: emu.Mismatch},
	{name: "clrex", arch: "arm64", site: "d503201f", code: "d5033f5f", want: emu.Mismatch, what: "monitor"},
	{name: "fpsr", arch: "arm64", site: "d503201f", code: "4ea0d820", want: emu.Mismatch, what: "v0"},
	{name: "undefined", arch: "arm64", site: "04a0e3e0", want: emu.Unsupported},

	{name: "mr", arch: "ppc64", site: "7c832378"},
	{name: "add.", arch: "ppc64", site: "7c642a15"},
	{name: "addeo.", arch: "ppc64", site: "7c642d15"},
	{name: "subfic", arch: "ppc64", site: "20640010"},
	{name: "ld", arch: "ppc64", site: "e8640008", faults: true},
	{name: "std", arch: "ppc64", site: "f8640008", faults: true},
	{name: "stdux", arch: "ppc64", site: "7c64296a", faults: true},
	{name: "lwbrx", arch: "ppc64", site: "7c642c2c", faults: true},
	{name: "lq", arch: "ppc64", site: "e0c40000", faults: true},
	{name: "fadd", arch: "ppc64", site: "fc22182a"},
	{name: "fadd.", arch: "ppc64", site: "fc22182b"},
	{name: "vaddubm", arch: "ppc64", site: "10221800"},
	{name: "vaddubs", arch: "ppc64", site: "10221a00"},
	{name: "xvadddp", arch: "ppc64", site: "f0221b00"},
	{name: "lxv", arch: "ppc64", site: "f4040001", faults: true},
	{name: "lxvd2x", arch: "ppc64", site: "7c042e98", faults: true},
	{name: "stvx", arch: "ppc64", site: "7c4429ce", faults: true},
	{name: "mtctr", arch: "ppc64", site: "7c8903a6"},
	{name: "mtcrf", arch: "ppc64", site: "7c8ff120"},
	{name: "crand", arch: "ppc64", site: "4c221a02"},
	{name: "mttar", arch: "ppc64", site: "7c8fcba6"},
	{name: "mfxer", arch: "ppc64", site: "7c6102a6"},
	{name: "ldarx", arch: "ppc64", site: "7c6428a8", faults: true},
	{name: "dcbz", arch: "ppc64", site: "7c0027ec", faults: true},
	{name: "lmw", arch: "ppc64", site: "bba40000", faults: true},
	{name: "b", arch: "ppc64", site: "48000400", code: "-", to: 0x400},
	{name: "bdnz as b", arch: "ppc64", site: "42000400", code: "-", to: 0x400, want: emu.Mismatch},
	{name: "addpcis", arch: "ppc64", site: "4c600004", want: emu.Mismatch, what: "r3"},
	{name: "bcl idiom", arch: "ppc64", site: "429f0005", code: "-", to: 4, want: emu.Mismatch, what: "lr"},
	{name: "wrong target", arch: "ppc64", site: "48000400", code: "-", to: 0x404, want: emu.Mismatch, what: "pc"},
	{name: "wrong cr", arch: "ppc64", site: "7c642a14", code: "7c642a15", want: emu.Mismatch, what: "cr"},
	{name: "wrong xer", arch: "ppc64", site: "7c642a14", code: "7c642814", want: emu.Mismatch, what: "xer"},
	{name: "wrong vector", arch: "ppc64", site: "10221800", code: "10221840", want: emu.Mismatch, what: "v1"},
	{name: "wrong float", arch: "ppc64", site: "fc22182a", code: "fc22182b", want: emu.Mismatch, what: "cr"},
	{name: "other half", arch: "ppc64", site: "fc201090", code: "f0221490", want: emu.Mismatch, what: "f1.0"},
	{name: "wrong memory", arch: "ppc64", site: "98640000", code: "98640001", want: emu.Mismatch},
	{name: "wrong order", arch: "ppc64", site: "7c642e2c", code: "7c642a2e", want: emu.Mismatch, what: "r3"},
	{name: "wrong direction", arch: "ppc64", site: "88640000", code: "98640000", want: emu.Mismatch},
	{name: "reservation", arch: "ppc64", site: "7c642868", code: "7c6428ae", want: emu.Mismatch, what: "monitor"},
	{name: "vscr", arch: "ppc64", site: "10221a00", code: "10221800", want: emu.Mismatch, what: "v"},
	{name: "prefixed", arch: "ppc64", site: "06000000 38600001", want: emu.Unsupported},
}

// TestCompareFixed: right and wrong copies, at every place; of Power in both orders.
func TestCompareFixed(t *testing.T) {
	workers := map[string]*emu.Worker{}
	for _, tt := range fixedTests {
		for _, arch := range []string{tt.arch, tt.arch + "le"} {
			info := fixedInfos[arch]
			if info == nil {
				continue
			}
			if workers[arch] == nil {
				workers[arch] = newWorker(t, info)
			}
			w := workers[arch]
			t.Run(arch+"/"+tt.name, func(t *testing.T) {
				for arena := range w.Arenas() {
					if err := w.UseArena(arena); err != nil {
						t.Fatal(err)
					}
					site := words(t, info, tt.site)
					code, to := site, tt.to
					switch tt.code {
					case "":
					case "-":
						code = nil
					default:
						code = words(t, info, tt.code)
					}
					if to == 0 {
						to = int64(len(site))
					}
					put(t, w, fixups.ClassPlain, site, 48)
					p := fixedPlan(t, info, len(site), code, to)
					reaches := w.Reaches(p)
					if len(reaches) == 0 {
						t.Fatal("no placement")
					}
					faults := 0
					for _, slot := range reaches {
						var res emu.Result
						if err := w.Check(&res, p, &reloc.Env{}, emu.Placement{Arena: slot, Interrupt: 8}); err != nil {
							t.Fatal(err)
						}
						expect(t, &res, tt.want, tt.what)
						if t.Failed() {
							return
						}
						if faults += res.Faults; res.Verdict == emu.Match && res.States < 48 {
							t.Errorf("only %d states compared, %d undecided, %d skipped", res.States, res.Undecided, res.Skipped)
						}
					}
					if tt.faults && faults == 0 {
						t.Error("no state faulted")
					}
				}
			})
		}
	}
}
