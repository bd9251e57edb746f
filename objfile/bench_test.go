package objfile

import (
	"os"
	"testing"
)

// largeFiles are programs that a developer's machine may have; the first that is
// there is measured.
var largeFiles = []string{"/usr/bin/node", "/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/bin/bash"}

// BenchmarkFuncs opens a file and finds its functions, entries and gaps.
func BenchmarkFuncs(b *testing.B) {
	for _, path := range append(largeFiles, "/bin/ls") {
		fi, err := os.Stat(path)
		if err != nil {
			continue
		}
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(fi.Size())
			n := 0
			for b.Loop() {
				f, err := Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Entries(); err != nil {
					b.Fatal(err)
				}
				if _, err := f.Gaps(); err != nil {
					b.Fatal(err)
				}
				n = len(mustFuncs(b, f))
				f.Close()
			}
			b.ReportMetric(float64(n), "funcs")
		})
	}
}
