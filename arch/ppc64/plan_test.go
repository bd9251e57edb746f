package ppc64

import (
	"encoding/hex"
	"testing"

	"github.com/xol-go/xol/reloc/reloctest"
)

// The addresses of the tests: near slots are 1 MiB away, far ones 62 TiB.
const (
	testSite = 0x7f1200400000
	testNear = testSite + 0x100000
	testFar  = 0x400000500000
)

// familyWords has instructions of every family, as words in hexadecimal.
var familyWords = []string{
	"48000100", "48000101", "48000102", "48000103", "48000000", "48000005", "4bfffffc", "4a000000", "49fffffd",
	"41820040", "41820041", "41821002", "41821003", "4200fff8", "4200fff9", "42400010", "410a0040", "400a0041", "42000000",
	"42800010", "42800011", "429f0005", "429f0009", "42800013", "42800012", "41828000", "41827ffc",
	"4e800020", "4e800021", "4d820020", "4d820021", "4e000020", "4e000021", "4c420020", "4d0a0021",
	"4e800420", "4e800421", "4d820420", "4d820421", "4e800460", "4e800461", "4d820460", "4d820461", "4e000460", "4e000461",
	"4c98ffc4", "4c600004", "4c000005", "4d5f7fc5",
	"0610000138602345", "06100001380023 45", "0613ffff3bfffff8",
	"0410000064600100", "04100000e4600100", "04100000e4000100", "04100000e4200100", "0613ffff80a0fe00", "04100000a4600100", "06100000a8600100",
	"04100000f4600100", "04100000f4200100", "06100000d8200100", "04100000c8600100", "04100000e0400100", "04100000f0400100", "04100000e8400100",
	"0400000 0e4610100", "0700000000000000", "0600000038600000", "60000000",
	"44000002", "44000022", "44000001", "7fe00008", "0c640000", "08640001", "7c632008",
	"00000200", "4c000024", "4c000224", "4c000124", "4c0002e4", "7c60 00a6", "7c600164", "7c610164", "7c600124",
	"7c00051d", "7c00055d", "7c00071d", "7c0007dd", "7c00003c", "7c6418 28", "7c6418ad", "7c6903a6", "f821ff81", "e8610010", "7c0802a6", "bbc10000",
	"7c7f42a6",
}

// inputs are the words in a byte order.
func (a *Arch) inputs(t testing.TB) (in [][]byte) {
	for _, s := range familyWords {
		in = append(in, a.unhex(t, s))
	}
	return in
}

// unhex turns words into bytes of the byte order.
func (a *Arch) unhex(t testing.TB, s string) []byte {
	t.Helper()
	var clean []byte
	for i := range s {
		if s[i] != ' ' {
			clean = append(clean, s[i])
		}
	}
	b, err := hex.DecodeString(string(clean))
	if err != nil || len(b)%4 != 0 {
		t.Fatalf("%s: %v", s, err)
	}
	if a.big {
		return b
	}
	for i := 0; i < len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	return b
}

// words turns bytes of the byte order into words.
func (a *Arch) words(b []byte) string {
	c := make([]byte, len(b))
	for i := 0; i+4 <= len(b); i += 4 {
		w := a.word(b[i:])
		for k := range 4 {
			c[i+k] = byte(w >> (24 - 8*k))
		}
	}
	return hex.EncodeToString(c)
}

var orders = []*Arch{BE, LE}

func TestConformance(t *testing.T) {
	for _, a := range orders {
		t.Run(a.info.Name, func(t *testing.T) {
			reloctest.TestArch(t, a, &reloctest.Options{Inputs: a.inputs(t), Random: 50})
		})
	}
}
