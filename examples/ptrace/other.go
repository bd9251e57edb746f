//go:build !(linux && amd64)

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "ptrace: runs on linux/amd64 only, this is %s/%s\n", runtime.GOOS, runtime.GOARCH)
	os.Exit(2)
}
