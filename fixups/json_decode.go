package fixups

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrJSON means that a document is not a fixup table.
var ErrJSON = errors.New("fixups: not a fixup table in JSON")

// DecodeJSON reads the document that [Table.AppendJSON] writes. regs gives the
// registers of an architecture, false for one that it does not know.
//
// The reader is strict in what it knows: types, spellings and their case, ranges,
// the grammar of steps, and [Table.Check]. A required field that is missing, a
// field that is there twice, null and bytes that are not UTF-8 are refused.
// Fields that it does not know are ignored, for fields may be added within a
// version; they never change what the others mean.
// The error wraps [ErrJSON].
func DecodeJSON(data []byte, regs func(arch string) (RegNames, bool)) (*Table, error) {
	var doc jsonTable
	if err := decodeStrict(data, "", &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	t, err := doc.table(regs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	return t, nil
}

// DecodeJSONL reads sites, one JSON object a line, as [Table.AppendJSONL]
// writes them. All of them must be of one architecture; the table has no more
// than that and its entries: without a Layout, which the caller has to set before
// [Table.AppendBinary]. The rules are those of [DecodeJSON].
func DecodeJSONL(r io.Reader, regs func(arch string) (RegNames, bool)) (*Table, error) {
	t := &Table{}
	var names RegNames
	dec := json.NewDecoder(r)
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if err == io.EOF {
			return t, nil
		}
		var s jsonSite
		if err == nil {
			err = decodeStrict(raw, "sites", &s)
		}
		if err == nil && n == 1 {
			t.Arch = s.Arch
			names, err = registers(regs, s.Arch)
		}
		if err == nil {
			err = t.appendSite(&s, names)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: site %d: %w", ErrJSON, n, err)
		}
	}
}

func registers(regs func(string) (RegNames, bool), arch string) (RegNames, error) {
	names, ok := regs(arch)
	if !ok {
		return nil, fmt.Errorf("unknown architecture %q", cut(arch))
	}
	return names, nil
}

// The documents as encoding/json sees them. Addresses are strings, so they go
// through parseAddr.
type (
	jsonTable struct {
		Version int         `json:"version"`
		Arch    string      `json:"arch"`
		File    string      `json:"file"`
		BuildID string      `json:"buildid"`
		Base    jsonAddr    `json:"base"`
		Layout  *jsonLayout `json:"layout"`
		Sites   []jsonSite  `json:"sites"`
		Gaps    []jsonGap   `json:"gaps"`
	}

	jsonLayout struct {
		Bits  uint8  `json:"bits"`
		Align uint8  `json:"align"`
		Insn  string `json:"insn"`
		Data  string `json:"data"`
	}

	jsonGap struct {
		Addr jsonAddr `json:"addr"`
		Size uint64   `json:"size"`
	}

	jsonSite struct {
		Arch    string     `json:"arch"`
		PC      *jsonAddr  `json:"pc"`
		Offset  *jsonAddr  `json:"offset"`
		Func    string     `json:"func"`
		At      uint64     `json:"at"`
		Bytes   jsonBytes  `json:"bytes"`
		Len     uint8      `json:"len"`
		AltLen  uint8      `json:"altlen"`
		Text    string     `json:"text"`
		Class   *Class     `json:"class"`
		Target  *jsonAddr  `json:"target"`
		Hazards []Hazard   `json:"hazards"`
		Reads   []string   `json:"reads"`
		Writes  []string   `json:"writes"`
		Kills   []string   `json:"kills"`
		Reason  Reason     `json:"reason"`
		Patch   []string   `json:"patch"`
		Forms   []jsonForm `json:"forms"`
	}

	jsonForm struct {
		Form      *Form        `json:"form"`
		Slots     string       `json:"slots"`
		Verdict   string       `json:"verdict"`
		Reason    Reason       `json:"reason"`
		Strategy  Strategy     `json:"strategy"`
		SiteLen   uint8        `json:"sitelen"`
		Code      jsonBytes    `json:"code"`
		Relocs    []jsonReloc  `json:"relocs"`
		Reach     *jsonReach   `json:"reach"`
		SlotAlign uint16       `json:"slotalign"`
		CopyLen   uint16       `json:"copylen"`
		Pre       []string     `json:"pre"`
		Post      []string     `json:"post"`
		Abort     []string     `json:"abort"`
		Emulate   []string     `json:"emulate"`
		Points    []jsonPoint  `json:"points"`
		Clobbers  []string     `json:"clobbers"`
		Lost      []string     `json:"lost"`
		Stop      Stop         `json:"stop"`
		Tail      Tail         `json:"tail"`
		Returns   *Returns     `json:"returns"`
		Stack     uint16       `json:"stack"`
		Escapes   []jsonEscape `json:"escapes"`
		Needs     []string     `json:"needs"`
		Private   bool         `json:"private"`
		X87       bool         `json:"x87"`
		Alias     bool         `json:"alias"`
	}

	jsonReloc struct {
		Off    uint16 `json:"off"`
		Lsb    uint8  `json:"lsb"`
		Bits   uint8  `json:"bits"`
		Shift  uint8  `json:"shift"`
		Size   uint8  `json:"size"`
		Base   *Base  `json:"base"`
		Index  uint16 `json:"index"`
		Addend int64  `json:"addend"`
		PCRel  bool   `json:"pcrel"`
		Check  Check  `json:"check"`
		Page   uint8  `json:"page"`
		Order  Order  `json:"order"`
	}

	jsonReach struct {
		Min     *int64 `json:"min"`
		Max     *int64 `json:"max"`
		Align   uint32 `json:"align"`
		Residue uint32 `json:"residue"`
	}

	jsonPoint struct {
		Off     uint16   `json:"off"`
		State   *State   `json:"state"`
		Insn    uint16   `json:"insn"`
		Back    []string `json:"back"`
		Forward []string `json:"forward"`
		Lost    []string `json:"lost"`
	}

	jsonEscape struct {
		Off  uint16      `json:"off"`
		Kind *EscapeKind `json:"kind"`
	}
)

// jsonAddr is an address: a string of 0x and hexadecimal digits.
type jsonAddr uint64

func (a *jsonAddr) UnmarshalText(text []byte) error {
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok || len(digits) == 0 || len(digits) > 16 {
		return fmt.Errorf("address %q is not 0x and up to 16 digits", cut(string(text)))
	}
	var v jsonAddr
	for _, c := range digits {
		n, ok := nibble(c)
		if !ok {
			return fmt.Errorf("address %q has a digit %q", text, c)
		}
		v = v<<4 | jsonAddr(n)
	}
	*a = v
	return nil
}

// jsonBytes are bytes in memory order: a string of hexadecimal digits.
type jsonBytes []byte

func (b *jsonBytes) UnmarshalText(text []byte) error {
	if len(text)%2 != 0 {
		return fmt.Errorf("bytes %q have half a byte", cut(string(text)))
	}
	out := make([]byte, len(text)/2)
	for i := range out {
		hi, ok1 := nibble(text[2*i])
		lo, ok2 := nibble(text[2*i+1])
		if !ok1 || !ok2 {
			return fmt.Errorf("bytes %q are not hexadecimal", cut(string(text)))
		}
		out[i] = hi<<4 | lo
	}
	*b = out
	return nil
}

func nibble(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}
