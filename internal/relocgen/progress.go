package relocgen

import (
	"fmt"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

// progress is a line on stderr for long work, if stderr is a terminal.
type progress struct {
	quiet bool
	s     *Streams
	bar   *progressbar.ProgressBar
}

func newProgress(s *Streams, c *cli.Command) *progress {
	return &progress{s: s, quiet: c.Bool("quiet") || !isTerminal(s.Err)}
}

// longWork is how much code is worth a progress line.
const longWork = 4 << 20

func (p *progress) begin(chunks []*chunk) {
	var total uint64
	for _, c := range chunks {
		total += c.bytes
	}
	if p.quiet || total < longWork {
		return
	}
	p.bar = progressbar.NewOptions64(int64(total), progressbar.OptionSetWriter(p.s.Err),
		progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetDescription("sweeping"), progressbar.OptionClearOnFinish())
}

func (p *progress) add(c *chunk) {
	if p.bar != nil {
		p.bar.Add64(int64(c.bytes))
	}
}

func (p *progress) stop() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colourless reports whether output must be without colour.
func colourless(c *cli.Command, s *Streams) bool {
	return c.String("output") != "" || !isTerminal(s.Out) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
}

func logf(s *Streams, format string, args ...any) {
	fmt.Fprintln(s.Err, "relocgen:", oneLine(fmt.Sprintf(format, args...)))
}
