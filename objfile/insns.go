package objfile

import (
	"fmt"
	"iter"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// InsnError is an instruction at which a sweep ended.
type InsnError struct {
	Arch  string // GOARCH spelling
	PC    VAddr
	Bytes []byte // at PC, up to the longest instruction, not beyond the known code
	Err   error  // the decoder's, a fixups.Reason
}

// Error renders architecture, address, bytes and reason on one line.
func (e *InsnError) Error() string {
	return fmt.Sprintf("%s: %#x: % x: %v", e.Arch, uint64(e.PC), e.Bytes, e.Err)
}

// Unwrap returns the reason.
func (e *InsnError) Unwrap() error { return e.Err }

// sweepWindow is how much code a sweep reads at once, in bytes.
const sweepWindow = 64 << 10

// Insns decodes a function from its start, one instruction behind the other,
// skipping the data in it. Where an instruction cannot be decoded, or has another
// length on other vendors' processors (fixups.ReasonVendor), an [*InsnError] is
// yielded. The place of the next one is known only if the instruction set says so
// ([reloc.Info.Resync]); else the sweep goes on behind the next data in the
// function, if there is any. The Insn is overwritten by the next one.
func (f *File) Insns(fn Func, arch reloc.Arch) iter.Seq2[*reloc.Insn, error] {
	return func(yield func(*reloc.Insn, error) bool) {
		s := sweep{f: f, arch: arch, longest: int(arch.Info().MaxLen)}
		s.buf = make([]byte, min(fn.Size, sweepWindow))
		for r := range f.Code(fn) {
			if !s.rangeOf(r, yield) {
				return
			}
		}
	}
}

// sweep is the state of Insns.
type sweep struct {
	f       *File
	arch    reloc.Arch
	longest int // bytes of the longest instruction
	buf     []byte
	in      reloc.Insn
}

// rangeOf decodes one range of code; false means stop.
func (s *sweep) rangeOf(r Range, yield func(*reloc.Insn, error) bool) bool {
	var win []byte
	for pc, end := r.Addr, r.End(); pc < end; {
		if len(win) < s.longest && uint64(len(win)) < uint64(end-pc) {
			n, err := s.f.ReadCode(s.buf[:min(uint64(len(s.buf)), uint64(end-pc))], pc)
			if err != nil {
				yield(nil, err)
				return false
			}
			win = s.buf[:n]
		}
		err := s.arch.Decode(&s.in, win, uint64(pc))
		if err == nil && s.in.AltLen != 0 && s.in.AltLen != s.in.Len {
			err = fixups.ReasonVendor
		}
		if err != nil {
			b := append([]byte(nil), win[:min(len(win), s.longest)]...)
			if !yield(nil, &InsnError{s.f.Arch, pc, b, err}) {
				return false
			}
			past := s.arch.Info().Past(&s.in, len(win))
			if win = win[past:]; !s.arch.Info().Resync {
				return true
			}
			pc += VAddr(past)
			continue
		}
		if !yield(&s.in, nil) {
			return false
		}
		win = win[s.in.Len:]
		pc += VAddr(s.in.Len)
	}
	return true
}

// Returns yields the addresses of the return instructions of a function: where a
// probe at its end belongs, tail calls excepted. Errors are those of
// [File.Insns]: behind one, returns may be missing.
func (f *File) Returns(fn Func, arch reloc.Arch) iter.Seq2[VAddr, error] {
	return func(yield func(VAddr, error) bool) {
		for in, err := range f.Insns(fn, arch) {
			switch {
			case err != nil:
				if !yield(0, err) {
					return
				}
			case in.Class == fixups.ClassReturn:
				if !yield(VAddr(in.PC), nil) {
					return
				}
			}
		}
	}
}
