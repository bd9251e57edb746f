//go:build !(linux && amd64)

package native

import (
	"fmt"
	"runtime"

	"github.com/xol-go/xol/emu"
)

func detect() (*Features, error) {
	return nil, fmt.Errorf("%w: %s/%s", ErrAbsent, runtime.GOOS, runtime.GOARCH)
}

func open(*emu.Target, *Features) (emu.CPU, error) { return nil, ErrAbsent }
