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
	return clock(3) // CLOCK_THREAD_CPUTIME_ID
}

// processTime is how long all threads of this process have run.
func processTime() time.Duration { return clock(2) } // CLOCK_PROCESS_CPUTIME_ID

func clock(id uintptr) time.Duration {
	var ts syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

// userTime is the part of processTime outside the kernel.
func userTime() time.Duration {
	var use syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano())
}
