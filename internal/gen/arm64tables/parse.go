package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// files are the tables in the order in which their rows are numbered.
var files = []string{"branch.txt", "system.txt", "integer.txt", "memory.txt", "vector.txt"}

// families lists the constants of the port's type family, in order.
func families(src []byte) (list []string) {
	for _, m := range regexp.MustCompile(`(?m)^\t(fam[A-Za-z]+)\b`).FindAllSubmatch(src, -1) {
		list = append(list, string(m[1]))
	}
	return list
}

// parseAll reads all rows that the file system has.
func parseAll(dir fs.FS, families []string) ([]*row, error) {
	var rows []*row
	for _, name := range files {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			continue // tests have some of them
		}
		list, err := parseFile(name, string(text), families)
		if err != nil {
			return nil, err
		}
		rows = append(rows, list...)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no rows")
	}
	id := 0
	for _, r := range rows {
		if !r.none() {
			id++
			r.id = id
		}
	}
	return rows, nil
}

// parseFile reads lines PATTERN : NAME [; ATTRIBUTES].
func parseFile(name, text string, families []string) (rows []*row, err error) {
	manual := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if s, ok := strings.CutPrefix(line, "@source "); ok {
			manual = s
			continue
		}
		r := &row{file: name, line: n, manual: manual}
		pattern, rest, ok := strings.Cut(line, " : ")
		if !ok {
			return nil, r.errorf("no colon between blanks")
		}
		if manual == "" {
			return nil, r.errorf("no @source")
		}
		r.pattern = pattern
		r.name, r.attrs, _ = strings.Cut(rest, " ; ")
		if err := r.parsePattern(); err != nil {
			return nil, err
		}
		if err := r.parseAttrs(families); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}
