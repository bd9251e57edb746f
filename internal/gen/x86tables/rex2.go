package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// exclusion is a range of opcodes that fault behind REX2.
type exclusion struct {
	opmap, first, last int
	cond               cond
}

func excluded(list []exclusion, pt *point) bool {
	if pt.space != spaceREX2 {
		return false
	}
	for i := range list {
		e := &list[i]
		if e.opmap == pt.opmap && e.first <= pt.op && pt.op <= e.last &&
			in(e.cond.reg, pt.modrm>>3&7) && in(e.cond.mod, b2i(pt.modrm>>6 == 3)) {
			return true
		}
	}
	return false
}

// parseREX2 reads lines MAP FIRST-LAST [/N[.mem]] : WHY.
func parseREX2(dir fs.FS) ([]exclusion, error) {
	f, err := dir.Open("rex2.txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []exclusion
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' || line[0] == '@' {
			continue
		}
		var e exclusion
		head, _, _ := strings.Cut(line, " :")
		if _, err := fmt.Sscanf(head, "%d %x-%x", &e.opmap, &e.first, &e.last); err != nil {
			return nil, fmt.Errorf("rex2.txt:%d: %w", n, err)
		}
		if fs := strings.Fields(head); len(fs) > 2 {
			for c := range strings.SplitSeq(fs[2], ".") {
				if err := e.cond.parse(c); err != nil {
					return nil, fmt.Errorf("rex2.txt:%d: %w", n, err)
				}
			}
		}
		list = append(list, e)
	}
	return list, sc.Err()
}
