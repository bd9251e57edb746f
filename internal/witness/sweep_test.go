package witness

import "testing"

func TestSays(t *testing.T) {
	for want, all := range map[string][3]int{
		"---": {}, "aaa": {7, 7, 7}, "-aa": {0, 7, 7}, "a-a": {7, 0, 7}, "aab": {7, 7, 8}, "aba": {7, 8, 7},
		"abb": {7, 8, 8}, "abc": {7, 8, 9}, "--a": {0, 0, 7}, "-ab": {0, 7, 8},
	} {
		if got := says(all); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	r := rule{says: []string{"-aa", "-ab"}, rows: []string{"-"}, names: []string{"bcctr", "pl*"}}
	for _, tt := range []struct {
		row, name, says string
		want            bool
	}{
		{"-", "bcctr", "-aa", true}, {"-", "plwz", "-ab", true}, {"-", "bcctrl", "-aa", false},
		{"-", "bcctr", "aab", false}, {"add", "bcctr", "-aa", false},
	} {
		if got := r.matches(tt.row, tt.name, tt.says); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
