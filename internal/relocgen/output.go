package relocgen

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"
)

// format is how results are written.
type format int

const (
	formatText format = iota
	formatJSON
	formatJSONL
	formatBinary
	formatCount
)

func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Usage: "print one JSON document", Category: "output"},
		&cli.BoolFlag{Name: "jsonl", Usage: "print one JSON object a site", Category: "output"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, atomically (- is stdout)", Category: "output"},
	}
}

func parseFormat(c *cli.Command) (format, error) {
	n, f := 0, formatText
	for name, v := range map[string]format{"json": formatJSON, "jsonl": formatJSONL, "binary": formatBinary, "count": formatCount} {
		if c.Bool(name) {
			n, f = n+1, v
		}
	}
	if n > 1 {
		return 0, usagef("--json, --jsonl, --binary and --count exclude each other")
	}
	return f, nil
}

// sink is where results go: stdout, or a temporary file that takes the place of
// the named one when all is well.
type sink struct {
	*bufio.Writer
	file *os.File
	name string
}

func openSink(c *cli.Command, stdout io.Writer) (*sink, error) {
	name := c.String("output")
	if name == "" || name == "-" {
		return &sink{Writer: bufio.NewWriterSize(stdout, 1<<16)}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".relocgen-*")
	if err != nil {
		return nil, usagef("-o: %v", err)
	}
	return &sink{Writer: bufio.NewWriterSize(f, 1<<16), file: f, name: name}, nil
}

// commit makes the output final; ok is false if the work failed, and then
// nothing is left behind.
func (s *sink) commit(ok bool) error {
	if s.file == nil {
		if !ok {
			return nil
		}
		return s.Flush()
	}
	defer os.Remove(s.file.Name())
	err := s.Flush()
	if err == nil {
		err = s.file.Chmod(0o644)
	}
	if cerr := s.file.Close(); err == nil {
		err = cerr
	}
	if !ok || err != nil {
		return err
	}
	if err := os.Rename(s.file.Name(), s.name); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}
