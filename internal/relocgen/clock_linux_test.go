package relocgen

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// threadTime is how long this thread has run on a processor: what other
// processes do does not count. The goroutine stays on its thread.
func threadTime() time.Duration {
	runtime.LockOSThread()
	const threadCPUTime = 3
	var ts syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPUTime, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}
