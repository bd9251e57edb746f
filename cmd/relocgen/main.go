// Relocgen says how instructions can be executed out of line and writes fixup
// tables for probe tools. See relocgen --help and docs/cli.md.
package main

import (
	"os"

	"github.com/xol-go/xol/internal/relocgen"
)

func main() { os.Exit(relocgen.Main(os.Args, relocgen.Stdio())) }
