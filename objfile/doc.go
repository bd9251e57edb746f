// Package objfile reads from a program or shared object what a probe tool must
// know before it looks at instructions: which bytes are code, where functions
// begin and end, and how the three kinds of address relate.
//
// # Addresses
//
// A symbol's address, its place in the file and its address in a running process
// are three different numbers, so they are three different types: [VAddr],
// [FileOffset] and [RuntimeAddr]. Methods of [File] convert between them.
//
// # Bounds, never guesses
//
// [File.Funcs] merges function symbols, .eh_frame and Go's pclntab, so that
// stripped programs are covered too. Executable bytes that none of them covers,
// and data that the file marks as such, are [File.Gaps]: their instruction
// boundaries are unknown, and nothing here tries to find them by decoding.
//
// # Files
//
// ELF of both classes and byte orders: executables and shared objects for amd64
// (the x32 ABI included), 386, arm64, ppc64, ppc64le, riscv64 and s390x.
// Relocatable objects and kernel modules are refused ([ErrType]): their
// addresses and the fields of their code are not final. So are core dumps, and
// separate debug files ([ErrNoCode]), which have no code. DWARF is not read, nor
// are symbols inside .gnu_debugdata, nor dynamic symbols of a file without
// section headers.
//
// Files may be hostile. Every error is an [*Error] of one kind, on one line;
// nothing panics; work and memory are bounded by a small multiple of the file's
// size, and no single table above 1 GiB is loaded. Headers are read by Open,
// tables when they are first asked for and then kept, and code only as it is
// asked for ([File.Bytes], [File.ReadCode]).
package objfile
