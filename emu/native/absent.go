//go:build !linux

package native

import (
	"fmt"
	"runtime"

	"github.com/xol-go/xol/emu"
)

func open(*emu.Target, *Features) (emu.CPU, error) { return nil, ErrAbsent }

func bootMachine(*machine) (*frame, error) {
	return nil, fmt.Errorf("%w: %s", ErrAbsent, runtime.GOOS)
}

func openMachine(*machine, *emu.Target, *frame) (emu.CPU, error) { return nil, ErrAbsent }
