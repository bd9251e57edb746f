//go:build !unix

package relocgen

import "os"

// endings are the signals that ask a process to end.
var endings = []os.Signal{os.Interrupt}
