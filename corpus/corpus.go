package corpus

import (
	"embed"
	"iter"
	"strings"
)

//go:embed *.txt
var texts embed.FS

// files are the case files in the order in which All reads them.
var files = []string{"amd64.txt", "386.txt", "arm64.txt", "ppc64.txt"}

// All iterates over all cases. Each call parses the embedded text anew, so the
// cases belong to the caller.
func All() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for _, name := range files {
			f := load(name)
			for i := range f.Cases {
				if !yield(&f.Cases[i]) {
					return
				}
			}
		}
	}
}

// load parses an embedded file. The tests parse all of them, so a syntax error
// here is one of the build.
func load(name string) *File {
	text, err := texts.ReadFile(name)
	if err == nil {
		var f *File
		if f, err = Parse(text); err == nil {
			return f
		}
	}
	panic("corpus: " + name + ": " + err.Error())
}

// ByArch iterates over the cases of one architecture (GOARCH spelling).
func ByArch(arch string) iter.Seq[*Case] {
	return Filter(All(), func(c *Case) bool { return c.Arch == arch })
}

// Filter iterates over the cases of seq that keep accepts.
func Filter(seq iter.Seq[*Case], keep func(*Case) bool) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for c := range seq {
			if keep(c) && !yield(c) {
				return
			}
		}
	}
}

// Match accepts the cases of which the key, the source, a note or an
// expectation contains all of the words.
func Match(words ...string) func(*Case) bool {
	return func(c *Case) bool {
		text := c.String()
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	}
}

// Find returns the case with the given key ("amd64/call-self"), nil if there is
// none.
func Find(key string) *Case {
	arch, _, _ := strings.Cut(key, "/")
	for c := range ByArch(arch) {
		if c.Key() == key {
			return c
		}
	}
	return nil
}
