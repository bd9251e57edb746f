package objfile_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/xol-go/xol/objfile"
)

// What is known of the running program: where its code is and whose it is.
func Example() {
	exe, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := objfile.Open(exe)
	if err != nil {
		fmt.Println(err) // not an ELF file, say
		return
	}
	defer f.Close()

	funcs, err := f.Lookup("runtime.gopanic")
	if err != nil {
		fmt.Println(err)
		return
	}
	fn := funcs[0]
	off, err := f.OffsetOf(fn.Addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	code, err := f.Bytes(fn.Addr, fn.Size)
	if err != nil {
		fmt.Println(err)
		return
	}
	back, _ := f.AddrOf(off)
	fmt.Println(fn.Name, uint64(len(code)) == fn.Size, back == fn.Addr)
	// Output: runtime.gopanic true true
}

// Every failure is of one kind.
func ExampleOpen() {
	_, err := objfile.Open(os.TempDir())
	fmt.Println(errors.Is(err, objfile.ErrDirectory), errors.Is(err, objfile.ErrTruncated))
	// Output: true false
}

// A uprobe is placed by file offset, and a process shows runtime addresses.
func ExampleFile_BiasOf() {
	exe, _ := os.Executable()
	f, err := objfile.Open(exe)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	text := f.Sections[0]
	// As read from a line of /proc/PID/maps: start address and file offset.
	start := objfile.RuntimeAddr(0x60000000)
	bias, err := f.BiasOf(start, text.Offset&^(objfile.PageSize-1))
	if err != nil {
		fmt.Println(err)
		return
	}
	at, _ := f.RuntimeAddrOf(text.Addr, bias)
	fmt.Printf("%#x\n", uint64(at)-uint64(start)-uint64(text.Offset%objfile.PageSize))
	// Output: 0x0
}
