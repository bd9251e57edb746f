//go:build amd64 || 386

package objfile_test

import (
	"fmt"
	"os"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/objfile"
)

// Every call that a function of the running program makes.
func ExampleFile_Insns() {
	exe, _ := os.Executable()
	f, err := objfile.Open(exe)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	a, ok := arch.ByName(f.Arch)
	if !ok {
		fmt.Println("no port for", f.Arch)
		return
	}
	funcs, err := f.Lookup("runtime.gopanic")
	if err != nil {
		fmt.Println(err)
		return
	}
	bytes, calls := uint64(0), 0
	for in, err := range f.Insns(funcs[0], a) {
		if err != nil {
			fmt.Println(err) // an *InsnError: what follows is not known
			return
		}
		bytes += uint64(in.Len)
		if in.Class == fixups.ClassCall {
			calls++
		}
	}
	fmt.Println(bytes == funcs[0].Size, calls > 0)
	// Output: true true
}
