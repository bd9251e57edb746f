// Relocgen with the verb verify, which executes originals and copies in Unicorn.
// A binary built from it links GPL code: see NOTICE. It is for tests and is not
// distributed.
package main

import (
	"os"

	"github.com/xol-go/xol/emu/unicorn"
	"github.com/xol-go/xol/internal/relocgen"
)

func main() {
	os.Exit(relocgen.Main(os.Args, relocgen.Stdio(), relocgen.VerifyVerb(unicorn.Oracle)))
}
