//go:build !linux

package relocgen

import "time"

var began = time.Now()

func threadTime() time.Duration { return time.Since(began) }

func processTime() time.Duration { return time.Since(began) }

func userTime() time.Duration { return time.Since(began) }
