package native

import "encoding/binary"

// elfHead is the size of the headers: one of the file and two of segments.
const elfHead = 64 + 2*56

// elfFile is a static ELF executable (System V ABI, chapter 4; x86-64
// supplement) with one segment, code at addr, that begins at its first
// instruction. The stack is declared not to be executable: without that, older
// kernels make all memory executable.
func elfFile(code []byte, addr uint64) []byte {
	const head, entry = elfHead - 2*56, 56
	const skip = elfHead
	total := uint64(skip + len(code))
	base := addr - skip
	le := binary.LittleEndian
	f := make([]byte, 0, total)
	f = append(f, 0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	f = le.AppendUint16(f, 2)  // executable
	f = le.AppendUint16(f, 62) // x86-64
	f = le.AppendUint32(f, 1)
	f = le.AppendUint64(f, addr)
	f = le.AppendUint64(f, head) // program headers
	f = le.AppendUint64(f, 0)    // no sections
	f = le.AppendUint32(f, 0)
	for _, v := range [6]uint16{head, entry, 2, 64, 0, 0} {
		f = le.AppendUint16(f, v)
	}
	segment := func(kind, flags uint32, at, size uint64) {
		f = le.AppendUint32(f, kind)
		f = le.AppendUint32(f, flags)
		f = le.AppendUint64(f, 0)
		f = le.AppendUint64(f, at)
		f = le.AppendUint64(f, at)
		f = le.AppendUint64(f, size)
		f = le.AppendUint64(f, size)
		f = le.AppendUint64(f, 0x1000)
	}
	segment(1, 5, base, total)   // load, read and execute
	segment(0x6474e551, 6, 0, 0) // stack, read and write
	return append(f, code...)
}
