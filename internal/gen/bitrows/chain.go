package bitrows

import "fmt"

// Chain is a list of rows, of which the first that matches a word holds. Start is
// its first place among the candidates.
type Chain struct {
	Rows  []*Row
	Start int
}

// Matching lists the rows that a word with these bits can match, up to the first
// that it must match.
func Matching(rows []*Row, mask, value uint64) (list []*Row) {
	for _, r := range rows {
		if (r.Value^value)&(r.Mask&mask) != 0 || covered(r, list) {
			continue
		}
		list = append(list, r)
		if r.Mask&^mask == 0 {
			break
		}
	}
	return list
}

// covered reports whether one of the rows before takes all that r has.
func covered(r *Row, list []*Row) bool {
	for _, b := range list {
		if b.Mask&^r.Mask == 0 && (b.Value^r.Value)&b.Mask == 0 {
			return true
		}
	}
	return false
}

// Reached is the set of rows that some word finds.
type Reached map[*Row]bool

// Add adds the rows.
func (a Reached) Add(rows []*Row) {
	for _, r := range rows {
		a[r] = true
	}
}

// All returns an error if one of the rows is not in the set.
func (a Reached) All(rows []*Row) error {
	for _, r := range rows {
		if !a[r] {
			return r.Errorf("no encoding reaches this row")
		}
	}
	return nil
}

// Key tells lists of rows apart.
func Key(rows []*Row) string {
	s := ""
	for _, r := range rows {
		s += fmt.Sprintf("%s:%d ", r.File, r.line)
	}
	return s
}

// Intern returns the index of the chain with these rows, which it appends if index
// does not have it by its key.
func Intern(chains *[]Chain, index map[string]int, rows []*Row) int {
	k := Key(rows)
	i, ok := index[k]
	if !ok {
		i = len(*chains)
		*chains = append(*chains, Chain{Rows: rows})
		index[k] = i
	}
	return i
}
