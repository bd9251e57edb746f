package main

import (
	"io/fs"
	"testing"

	"github.com/xol-go/xol/internal/gen/gentest"
)

func TestGenerated(t *testing.T) { gentest.Generated(t, port.Tables()) }

// Mistakes in a row are reported with file and line.
func TestErrors(t *testing.T) {
	const add = "sf 00 01011 00 0 Rm:5 imm6:6 Rn:5 Rd:5"
	gentest.Mistakes(t, "integer.txt", add+" : add", []gentest.Mistake{
		{add + " add", "integer.txt:2: no colon between blanks"},
		{"011111 Rt:5 : x", "integer.txt:2: 21 bits are missing"},
		{add + " 1 : x", "integer.txt:2: more than 32 bits"},
		{"011111 Rt:5 Rt:5 any:16 : x", "integer.txt:2: field Rt twice"},
		{"011111 Rt:x any:25 : x", `integer.txt:2: field "Rt:x"`},
		{add + " : add ; w:Rx", `integer.txt:2: register "w:Rx"`},
		{add + " : add ; w:Rd.q", `integer.txt:2: register "w:Rd.q"`},
		{add + " : add ; q:Rd", `integer.txt:2: access "q:Rd"`},
		{add + " : add ; w:Rs", `integer.txt:2: no field Rs of five bits`},
		{add + " : add ; lokc", `integer.txt:2: attribute "lokc"`},
		{add + " : add ; class=palin", `integer.txt:2: fixups: unknown class "palin"`},
		{add + " : add ; haz=dull", `integer.txt:2: fixups: unknown hazard "dull"`},
		{add + " : add ; fam=famNone", `integer.txt:2: unknown family "famNone"`},
		{add + " : add ; class=branch", `integer.txt:2: unknown family ""`},
		{add + " : add ; target=up", `integer.txt:2: unknown target "up"`},
		{add + " : add ; target=imm26", "integer.txt:2: target without field imm26"},
		{add + " : add ; class=privileged fam=famPlain", `integer.txt:2: class privileged and system rule "" do not`},
		{add + " : add ; sys=copy", `integer.txt:2: class plain and system rule "copy" do not`},
		{add + " : add ; class=privileged fam=famPlain sys=cpoy", `integer.txt:2: unknown system rule "cpoy"`},
		{"any:32 : add", "integer.txt:2: words outside of the groups of integer.txt"},
		{add + " : - ; mem", "integer.txt:2: attributes of no instruction"},
		{add + " : add\n" + add + " : add", "integer.txt:3: no encoding reaches this row"},
	}, func(dir fs.FS) error {
		_, _, err := port.Parse(dir, []string{"famPlain"})
		return err
	})
}
