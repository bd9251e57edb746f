package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/xol-go/xol/internal/testenv"
)

const port = "../../../arch/x86"

func TestGenerated(t *testing.T) {
	if testenv.Race {
		t.Skip("regenerates in one goroutine; runs without the race detector")
	}
	code, page, err := generate(port)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{codeFile: code, pageFile: page} {
		got, err := os.ReadFile(filepath.Join(port, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale; run: go generate ./arch/x86", file)
		}
	}
}

// Mistakes in a row are reported with file and line.
func TestErrors(t *testing.T) {
	for _, tt := range []struct{ row, want string }{
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
	} {
		dir := fstest.MapFS{"one.txt": {Data: []byte("@source here\n" + tt.row + "\n")}}
		rows, have, err := parseAll(dir)
		if err == nil {
			var m *model
			if m, err = build(rows, have, nil); err == nil {
				_, err = m.emit()
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.row, err, tt.want)
		}
	}
	_, _, err := parseAll(fstest.MapFS{"one.txt": {Data: []byte("90 : nop\n")}})
	if err == nil || !strings.Contains(err.Error(), "one.txt:1: no @source") {
		t.Errorf("a row without a source: %v", err)
	}
}
