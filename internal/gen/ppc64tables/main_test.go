package main

import (
	"io/fs"
	"testing"

	"github.com/xol-go/xol/internal/gen/gentest"
)

func TestGenerated(t *testing.T) { gentest.Generated(t, port.Tables()) }

// Mistakes in a row are reported with file and line.
func TestErrors(t *testing.T) {
	const add = "011111 RT:5 RA:5 RB:5 OE 100001010 Rc"
	gentest.Mistakes(t, "branch.txt", add+" : add", []gentest.Mistake{
		{add + " add", "branch.txt:2: no colon between blanks"},
		{"011111 RT:5 : x", "branch.txt:2: 21 bits are missing"},
		{add + " 1 : x", "branch.txt:2: more than 32 bits"},
		{"RT:6 /:26 : x", `branch.txt:2: no primary opcode`},
		{"011111 RT:5 RT:5 /:16 : x", "branch.txt:2: field RT twice"},
		{"011111 RT:x /:25 : x", `branch.txt:2: field "RT:x"`},
		{add + " : add ; w:RX", `branch.txt:2: register "w:RX"`},
		{add + " : add ; q:RT", `branch.txt:2: access "q:RT"`},
		{add + " : add ; w:RS", `branch.txt:2: no field RS`},
		{add + " : add ; lokc", `branch.txt:2: attribute "lokc"`},
		{add + " : add ; class=palin", `branch.txt:2: fixups: unknown class "palin"`},
		{add + " : add ; haz=dull", `branch.txt:2: fixups: unknown hazard "dull"`},
		{add + " : add ; fam=famNone", `branch.txt:2: unknown family "famNone"`},
		{add + " : add ; class=branch", `branch.txt:2: unknown family ""`},
		{add + " : add ; target=up", `branch.txt:2: unknown target "up"`},
		{add + " : add ; target=d34", "branch.txt:2: target without field d0"},
		{add + " : add ; class=pc-relative fam=famPlain", "branch.txt:2: pc-relative without a target"},
		{add + " : add ; class=privileged fam=famPlain", `branch.txt:2: class privileged and system rule "" do not`},
		{add + " : add ; sys=copy", `branch.txt:2: class plain and system rule "copy" do not`},
		{add + " : add ; priv sys=cpoy", `branch.txt:2: unknown system rule "cpoy"`},
		{add + " : add ; priv", `branch.txt:2: attribute priv and system rule "" do not`},
		{add + " : - ; mem", "branch.txt:2: attributes of no instruction"},
		{add + " : add\n" + add + " : add", "branch.txt:3: no encoding reaches this row"},
		{"000001 /:26 : x", "branch.txt:2: a prefix alone"},
		{"000001 /:26 | /:32 | /:32 : x", "branch.txt:2: 3 words"},
	}, func(dir fs.FS) error {
		_, _, err := port.Parse(dir, []string{"famPlain"})
		return err
	})
}
