package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/emu/unicorn"
	"github.com/xol-go/xol/internal/relocgen"
)

// wrongOracle executes slot code with a mistake: in all runs but those of a site,
// which are one step long, it changes the first register.
type wrongOracle struct{ emu.Oracle }

func (o wrongOracle) Open(t *emu.Target) (emu.CPU, error) {
	cpu, err := o.Oracle.Open(t)
	return wrongCPU{cpu, len(t.Words)}, err
}

type wrongCPU struct {
	emu.CPU
	words int
}

func (c wrongCPU) Run(b *emu.Batch) error {
	err := c.CPU.Run(b)
	if b.Limit == 1 {
		return err
	}
	for i := range b.N {
		b.Out[i*c.words] ^= 1
	}
	return err
}

func TestVerify(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := t.TempDir() + "/text"
	if err := os.WriteFile(text, []byte("no object file"), 0o644); err != nil {
		t.Fatal(err)
	}
	match := `^oracle unicorn, %, seed 7
sites [1-9]\d*, plans compared [1-9]\d*, forms refused \d+
match +[1-9]\d*
mismatch +0
unsupported +\d+
suspect +0
states [1-9]\d*, of them faults \d+, .*interruptions [1-9]\d*
class (?s:.*)form emulate .*
form jump .*
form step .*
`
	amd64 := strings.ReplaceAll(match, "%", "amd64")
	tests := []struct {
		name   string
		oracle emu.Oracle
		args   []string
		code   int
		out    string // matches what is printed
	}{
		{name: "hex", oracle: unicorn.Oracle, args: []string{"--arch", "amd64", "488b0534120000", "e2fe", "c3", "4c0fa32db5621d00"}, out: amd64},
		{name: "386", oracle: unicorn.Oracle, args: []string{"--arch", "386", "e800000000", "7410", "8b4508"}, out: strings.ReplaceAll(match, "%", "386")},
		{name: "arm64", oracle: unicorn.Oracle, args: []string{"--arch", "arm64", "4100005820003fd6", "40000054", "c0035fd6"}, out: strings.ReplaceAll(match, "%", "arm64")},
		{name: "ppc64", oracle: unicorn.Oracle, args: []string{"--arch", "ppc64", "4c6000044e800421", "419e0010", "48000101"}, out: strings.ReplaceAll(match, "%", "ppc64")},
		{name: "ppc64le", oracle: unicorn.Oracle, args: []string{"--arch", "ppc64le", "0400604c2104804e", "10009e41", "01010048"}, out: strings.ReplaceAll(match, "%", "ppc64le")},
		{name: "file", oracle: unicorn.Oracle, args: []string{"--file", self, "--sites", "40", "--states", "4"}, out: amd64},
		{name: "unsupported", oracle: unicorn.Oracle, args: []string{"--arch", "amd64", "c5f058c2"},
			out: `(?s)sites 0, .*\nunsupported +[1-9].*\nlimit vex +3\n`},
		{name: "mismatch", oracle: wrongOracle{unicorn.Oracle}, args: []string{"--arch", "amd64", "90"}, code: 4,
			out: `(?s)\nmismatch +[1-9]\d*\n.*\nmismatch amd64 .*: 90 as jump at .*\n\trax: site`},
		{name: "not an instruction", oracle: unicorn.Oracle, args: []string{"--arch", "amd64", "06"}, code: 1, out: `^$`},
		{name: "not an object", oracle: unicorn.Oracle, args: []string{"--file", text}, code: 3, out: `^$`},
		{name: "both", oracle: unicorn.Oracle, args: []string{"--file", text, "90"}, code: 2, out: `^$`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs strings.Builder
			args := append([]string{"relocgen", "verify", "--seed", "7"}, tt.args...)
			s := &relocgen.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
			code := relocgen.Main(args, s, relocgen.VerifyVerb(tt.oracle))
			if code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, &errs)
			}
			if !regexp.MustCompile(tt.out).MatchString(out.String()) {
				t.Errorf("output is not %s:\n%s", tt.out, &out)
			}
			if (code != 0) != (errs.Len() > 0) {
				t.Errorf("exit code %d, and on stderr %q", code, &errs)
			}
		})
	}
}
