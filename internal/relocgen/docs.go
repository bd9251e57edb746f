package relocgen

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"
)

// Markdown is docs/cli.md, made from the definitions of the verbs so that page
// and --help cannot differ.
func Markdown(extra ...Verb) []byte {
	root := command(&Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, extra)
	dst := []byte("# relocgen\n\n" + "<!-- Made from the command's definitions by `make generate`. -->\n\n" + fenced(root.Description) + streamsDoc)
	for _, c := range root.Commands {
		if c.Name == "help" {
			continue // says what the rest of the page says
		}
		dst = fmt.Appendf(dst, "\n## relocgen %s\n\n`relocgen %s [flags] %s`: %s.\n\n%s", c.Name, c.Name, c.ArgsUsage, c.Usage, fenced(c.Description))
		dst = flagTable(dst, c)
	}
	return dst
}

const streamsDoc = `
Results go to stdout, everything else to stderr. ` + "`-o FILE`" + ` writes atomically: FILE is replaced when all is well, and
untouched otherwise. Colour is used on terminals only, and not if ` + "`NO_COLOR`" + ` is set.
`

// fenced keeps the layout of help texts.
func fenced(s string) string { return "```\n" + s + "\n```\n" }

func flagTable(dst []byte, c *cli.Command) []byte {
	dst = append(dst, "\n| flag | meaning |\n|---|---|\n"...)
	for _, f := range c.Flags {
		names := f.Names()
		for i, n := range names {
			names[i] = "`-" + strings.Repeat("-", min(len(n)-1, 1)) + n + "`"
		}
		usage := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			usage = strings.ReplaceAll(d.GetUsage(), "|", "\\|")
		}
		dst = fmt.Appendf(dst, "| %s | %s |\n", strings.Join(names, ", "), usage)
	}
	return dst
}
