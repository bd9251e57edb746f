package relocgen

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xol-go/xol/emu/native"
	"github.com/xol-go/xol/internal/testenv"
)

// TestVerify: a build without a verb of its own executes on the processor, or under
// qemu-user.
func TestVerify(t *testing.T) {
	o := native.New()
	for _, arch := range []string{"amd64", "386", "arm64", "ppc64", "ppc64le"} {
		if err := o.Ready(arch); err != nil {
			testenv.Missing(t, err.Error())
		}
	}
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"vector", []string{"--arch", "amd64", "c5fc28055c000000", "e2fe"}, 0, []string{"oracle native, amd64, seed 1", "mismatch     0", "class pc-relative"}},
		{"386", []string{"--arch", "386", "e800000000", "7410"}, 0, []string{"oracle native, 386", "mismatch     0", "class call"}},
		{"sve", []string{"--arch", "arm64", "00002004", "00000010"}, 0, []string{"oracle native, arm64", "mismatch     0", "class plain", "class pc-relative"}},
		{"big-endian", []string{"--arch", "ppc64", "04100000e4600100", "48000009"}, 0, []string{"oracle native, ppc64,", "mismatch     0", "class pc-relative", "class call"}},
		{"little-endian", []string{"--arch", "ppc64le", "00001004000160e4", "09000048"}, 0, []string{"oracle native, ppc64le", "mismatch     0", "class pc-relative", "class call"}},
		{"absent", []string{"--arch", "amd64", "d50089c1"}, 0, []string{"match        0", "absent:apx"}},
		{"not an instruction", []string{"--arch", "amd64", "06"}, 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Main(append([]string{"relocgen", "verify"}, tt.args...), &Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, errs.String())
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
		})
	}
}
