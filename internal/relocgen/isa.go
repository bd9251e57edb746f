package relocgen

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

const isaHelp = `Prints rows of an instruction set's tables: the pattern in the notation of its
manual (explained in tables/README.md below arch/x86, arch/arm64 and arch/ppc64),
the class, the hazards, and where the manual says so. Arguments select rows by
mnemonic or by row number, --class by class; without either all rows are printed.

Exit code 1: no row matches.

Examples:
  relocgen isa --arch amd64 vpaddd
  relocgen isa --arch 386 call ret
  relocgen isa --arch amd64 --bytes 'f3 0f 1e fa'
  relocgen isa --arch amd64 --class kernel-entry --json`

func isaVerb(s *Streams) *cli.Command {
	return &cli.Command{
		Name: "isa", Usage: "print table rows with their sources",
		ArgsUsage: "[MNEMONIC|ROW...]", Description: isaHelp,
		Flags: append([]cli.Flag{
			archFlag(),
			&cli.StringFlag{Name: "bytes", Usage: "the row of this instruction, `HEX`"},
			&cli.StringFlag{Name: "class", Usage: "rows of this `CLASS`"},
		}, outputFlags()...),
		Action: func(_ context.Context, c *cli.Command) error { return isa(s, c) },
	}
}

func isa(s *Streams, c *cli.Command) error {
	a, err := archOf(c)
	if err != nil {
		return err
	}
	d, ok := a.(reloc.Describer)
	if !ok {
		return usagef("the tables of %s cannot be printed", a.Info().Name)
	}
	f, err := parseFormat(c)
	if err != nil {
		return err
	}
	rows, err := pickRows(c, a, d)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return &failure{exitFinding, fmt.Errorf("no row of %s matches", a.Info().Name)}
	}
	out, err := openSink(c, s.Out)
	if err != nil {
		return err
	}
	err = writeRows(out, a, rows, f)
	return outcome(err, out.commit(err == nil))
}

func pickRows(c *cli.Command, a reloc.Arch, d reloc.Describer) ([]reloc.Row, error) {
	if c.IsSet("bytes") {
		if c.Args().Present() || c.IsSet("class") {
			return nil, usagef("--bytes selects one row: no --class, MNEMONIC or ROW beside it")
		}
		return rowOfBytes(c, a, d)
	}
	var class fixups.Class
	if c.IsSet("class") {
		if err := class.UnmarshalText([]byte(c.String("class"))); err != nil {
			return nil, usagef("--class: no class %q", shorten(c.String("class")))
		}
	}
	var rows []reloc.Row
	for _, r := range d.Rows() {
		if c.IsSet("class") && r.Class != class {
			continue
		}
		if c.Args().Len() == 0 || matches(&r, c.Args().Slice()) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func rowOfBytes(c *cli.Command, a reloc.Arch, d reloc.Describer) ([]reloc.Row, error) {
	code, err := parseHex([]string{c.String("bytes")})
	if err != nil {
		return nil, err
	}
	var in reloc.Insn
	if err := a.Decode(&in, code, 0x1000); err != nil {
		return nil, &failure{exitFinding, fmt.Errorf("%s: % x: %w", a.Info().Name, code, err)}
	}
	if int(in.Len) < len(code) {
		return nil, usagef("--bytes: the instruction ends before % x", code[in.Len:])
	}
	row, ok := d.RowOf(&in)
	if !ok {
		return nil, nil
	}
	return []reloc.Row{row}, nil
}

func matches(r *reloc.Row, words []string) bool {
	for _, w := range words {
		if strings.EqualFold(w, r.Name) || w == fmt.Sprint(r.ID) {
			return true
		}
	}
	return false
}

// rowJSON freezes the field names.
type rowJSON struct {
	Arch    string          `json:"arch"`
	Row     uint32          `json:"row"`
	Pattern string          `json:"pattern"`
	Name    string          `json:"name"`
	Class   fixups.Class    `json:"class"`
	Hazards []fixups.Hazard `json:"hazards,omitempty"`
	Source  string          `json:"source"`
}

func writeRows(out *sink, a reloc.Arch, rows []reloc.Row, f format) error {
	if f == formatText {
		return textRows(out, rows)
	}
	all := make([]rowJSON, len(rows))
	for i, r := range rows {
		j := rowJSON{a.Info().Name, r.ID, r.Pattern, r.Name, r.Class, nil, r.Source}
		for h := range r.Hazards.All() {
			j.Hazards = append(j.Hazards, h)
		}
		all[i] = j
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if f == formatJSON {
		return enc.Encode(struct {
			Version int       `json:"version"`
			Rows    []rowJSON `json:"rows"`
		}{1, all})
	}
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func textRows(out *sink, rows []reloc.Row) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ROW\tNAME\tPATTERN\tCLASS\tHAZARDS\tSOURCE")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%s\t%s\t%v\t%s\t%s\n", r.ID, r.Name, r.Pattern, r.Class, hazardWords(r.Hazards), r.Source)
	}
	return w.Flush()
}

func hazardWords(h fixups.Hazards) string {
	if h == 0 {
		return "-"
	}
	var words []string
	for x := range h.All() {
		words = append(words, x.String())
	}
	return strings.Join(words, ",")
}
