//go:build !(linux && amd64)

package native

import (
	"fmt"
	"runtime"
)

func detect() (*Features, error) {
	return nil, fmt.Errorf("%w: %s/%s", ErrAbsent, runtime.GOOS, runtime.GOARCH)
}
