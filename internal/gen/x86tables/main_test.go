package main

import (
	"io/fs"
	"testing"

	"github.com/xol-go/xol/internal/gen/gentest"
)

func TestGenerated(t *testing.T) { gentest.Generated(t, tables) }

// Mistakes in a row are reported with file and line.
func TestErrors(t *testing.T) {
	gentest.Mistakes(t, "one.txt", "90 : nop", []gentest.Mistake{
		{"zz : nop", `one.txt:2: opcode "zz"`},
		{"90 nop", "one.txt:2: no colon between blanks"},
		{"90 w9 : nop", `one.txt:2: condition "w9"`},
		{"91+r : nop", "one.txt:2: opcode 91+r has low bits"},
		{"90 : nop q:Ev", `one.txt:2: operand "q:Ev"`},
		{"90 : nop ; lokc", `one.txt:2: attribute "lokc"`},
		{"90 : nop ; class=palin", "one.txt:2: fixups: unknown class \"palin\""},
		{"90 : nop ; haz=dull", "one.txt:2: fixups: unknown hazard \"dull\""},
		{"90 : nop ; class=privileged", "one.txt:2: class privileged, attribute priv and system rule \"\" do not go together"},
		{"90 : nop ; priv", "one.txt:2: class plain, attribute priv and"},
		{"90 : nop ; sys=copy", "one.txt:2: class plain, attribute priv and"},
		{"90 : nop ; class=trap sys=cpoy", "one.txt:2: unknown system rule \"cpoy\""},
		{"90 : nop r:!v", `one.txt:2: operand code "!v"`},
		{"90 : nop\n90 f3 : pause", "one.txt:3: no encoding reaches this row"},
		{"90 /0 : nop r:Ib\n90 /1 : nop r:Iz", "one.txt:3: immediate differs"},
		{"90 : nop r:Ib,r:Ib,r:Ib", `one.txt:2: immediate "Ib,Ib,Ib"`},
	}, func(dir fs.FS) error {
		rows, have, err := parseAll(dir)
		if err != nil {
			return err
		}
		m, err := build(rows, have, nil)
		if err != nil {
			return err
		}
		_, err = m.emit()
		return err
	})
}
