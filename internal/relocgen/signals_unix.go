//go:build unix

package relocgen

import (
	"os"
	"syscall"
)

// endings are the signals that ask a process to end.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
