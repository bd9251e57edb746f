// Package c holds the C side of fixups: one freestanding header that checks,
// looks up, places and runs what [fixups.Table.AppendBinary] has written, and
// maps of register numbers onto the structures of Linux. The package has no Go
// code; docs/c.md shows the use of the headers.
//
//   - xol_fixups.h: tables, plans, programs, points. C11 and C++17.
//   - xol_linux.h: where registers are in struct pt_regs, user_regs_struct and
//     ucontext_t. Generated from package fixups/linux.
//
// The tests run both sides over the same tables and compare what they say: on
// the host under the sanitizers, and as 32-bit, big-endian and arm64 programs.
//
// [fixups.Table.AppendBinary]: https://pkg.go.dev/github.com/xol-go/xol/fixups#Table.AppendBinary
package c
