package native

import "encoding/binary"

// elfHead is the size of the headers: one of the file and two of segments.
const elfHead = 64 + 2*56

// elfKind is what the header of an executable says about its instruction set.
type elfKind struct {
	machine uint16 // e_machine
	flags   uint32 // e_flags
	order   binary.ByteOrder
}

var elfAMD64 = elfKind{machine: 62, order: binary.LittleEndian}

// elfFile is a static ELF executable (System V ABI, chapter 4, and the supplements
// of the instruction sets) with one segment, code at addr, that begins at its first
// instruction. The stack is declared not to be executable: without that, older
// kernels make all memory executable.
func elfFile(kind elfKind, code []byte, addr uint64) []byte {
	const head, entry = elfHead - 2*56, 56
	const skip = elfHead
	total := uint64(skip + len(code))
	base := addr - skip
	var put binary.AppendByteOrder = binary.LittleEndian
	data := byte(1)
	if kind.order == binary.BigEndian {
		put, data = binary.BigEndian, 2
	}
	f := make([]byte, 0, total)
	f = append(f, 0x7f, 'E', 'L', 'F', 2, data, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	f = put.AppendUint16(f, 2) // executable
	f = put.AppendUint16(f, kind.machine)
	f = put.AppendUint32(f, 1)
	f = put.AppendUint64(f, addr)
	f = put.AppendUint64(f, head) // program headers
	f = put.AppendUint64(f, 0)    // no sections
	f = put.AppendUint32(f, kind.flags)
	for _, v := range [6]uint16{head, entry, 2, 64, 0, 0} {
		f = put.AppendUint16(f, v)
	}
	segment := func(kind, flags uint32, at, size uint64) {
		f = put.AppendUint32(f, kind)
		f = put.AppendUint32(f, flags)
		f = put.AppendUint64(f, 0)
		f = put.AppendUint64(f, at)
		f = put.AppendUint64(f, at)
		f = put.AppendUint64(f, size)
		f = put.AppendUint64(f, size)
		f = put.AppendUint64(f, 0x1000)
	}
	segment(1, 5, base, total)   // load, read and execute
	segment(0x6474e551, 6, 0, 0) // stack, read and write
	return append(f, code...)
}
