package relocgen

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// benchFile is the program that benchmarks sweep: XOL_BENCH_FILE, else the go
// command itself.
func benchFile(tb testing.TB) string {
	if f := os.Getenv("XOL_BENCH_FILE"); f != "" {
		return f
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		tb.Skip("no go command to sweep: set XOL_BENCH_FILE")
	}
	return filepath.Join(strings.TrimSpace(string(root)), "bin", "go")
}

// sweep runs table with args and returns what it found.
func sweep(args []string, w io.Writer) (found counts, err error) {
	s := &Streams{In: strings.NewReader(""), Out: w, Err: io.Discard}
	verb := tableVerb(s)
	verb.Action = func(_ context.Context, c *cli.Command) error {
		found, err = tableRun(s, c)
		return err
	}
	verb.Writer, verb.ErrWriter = w, io.Discard
	verb.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	err = verb.Run(context.Background(), append([]string{"table"}, args...))
	return found, err
}

// BenchmarkTable writes whole tables. MB/s counts bytes of code, insns/s
// instructions; P8 of docs/performance.md is the binary one.
func BenchmarkTable(b *testing.B) {
	file := benchFile(b)
	for _, mode := range []string{"--binary", "--jsonl"} {
		b.Run(mode[2:], func(b *testing.B) {
			b.ReportAllocs()
			var code, sites int
			for b.Loop() {
				found, err := sweep([]string{mode, file}, io.Discard)
				if err != nil {
					b.Fatal(err)
				}
				code, sites = int(found.bytes), found.sites
			}
			b.SetBytes(int64(code))
			perSite := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(sites)
			b.ReportMetric(perSite, "ns/insn")
			b.ReportMetric(1e9/perSite, "insns/s")
		})
	}
}
