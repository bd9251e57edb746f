package relocgen

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
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

// sink is where results go: stdout, a device or pipe, or a temporary file that
// takes the place of the named one when all is well.
type sink struct {
	*bufio.Writer
	file *os.File
	name string // of the file to replace; "": file is written in place
	quit func() // ends the watch for signals
}

func openSink(c *cli.Command, stdout io.Writer) (*sink, error) {
	name := c.String("output")
	if name == "" && c.IsSet("output") {
		return nil, usagef("-o: no FILE (- is stdout)")
	}
	if name == "" || name == "-" {
		return &sink{Writer: bufio.NewWriterSize(stdout, 1<<16)}, nil
	}
	mode := os.FileMode(0o666) // less the umask
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
		info, err := os.Stat(name)
		if err != nil {
			return nil, outputErr(err)
		}
		if info.IsDir() {
			return nil, outputErr(fmt.Errorf("%s is a directory", name))
		}
		if !info.Mode().IsRegular() {
			return openInPlace(name)
		}
		mode = info.Mode().Perm()
	}
	f, err := createBeside(name, mode)
	if err != nil {
		return nil, outputErr(err)
	}
	s := &sink{Writer: bufio.NewWriterSize(f, 1<<16), file: f, name: name}
	s.quit = removeOnSignal(f.Name())
	return s, nil
}

func outputErr(err error) error { return inputErr(fmt.Errorf("-o: %w", err)) }

// openInPlace writes to what is no regular file (a pipe, a terminal, /dev/null)
// where it is.
func openInPlace(name string) (*sink, error) {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil, outputErr(err)
	}
	return &sink{Writer: bufio.NewWriterSize(f, 1<<16), file: f}, nil
}

// createBeside makes a new file in the directory of name. An existing mode is
// kept to the letter, a new one is subject to the umask.
func createBeside(name string, mode os.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		temp := filepath.Join(filepath.Dir(name), fmt.Sprintf(".relocgen-%d-%d", os.Getpid(), try))
		f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		if err == nil && mode != 0o666 {
			f.Chmod(mode)
		}
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			path.Path = name // which is what the caller knows
		}
		return f, err
	}
}

// removeOnSignal removes the file if the run is interrupted.
func removeOnSignal(name string) (quit func()) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, endings...)
	go func() {
		if _, ok := <-caught; ok {
			os.Remove(name)
			os.Exit(exitInterrupted)
		}
	}()
	return func() {
		signal.Stop(caught)
		close(caught)
	}
}

// outcome is the error of a run whose work ended with err and whose output with
// cerr: what could not be written counts as input that could not be read.
func outcome(err, cerr error) error {
	var f *failure
	if err = firstErr(err, cerr); err == nil || errors.As(err, &f) {
		return err
	}
	return inputErr(err)
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
	if s.name == "" {
		return firstErr(s.Flush(), s.file.Close())
	}
	defer s.quit()
	defer os.Remove(s.file.Name())
	err := firstErr(s.Flush(), s.file.Close())
	if !ok || err != nil {
		return err
	}
	return os.Rename(s.file.Name(), s.name)
}
