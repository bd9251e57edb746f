// Package linux lets fixup programs run on threads of Linux: it says where the
// registers of an instruction set are in the structures by which the kernel
// shows a thread (struct pt_regs, struct user_regs_struct of ptrace, the
// mcontext of a signal frame, the FXSAVE area), and makes a [fixups.Machine] of
// such a structure and of memory.
//
// Structures are plain bytes with offsets, so the package builds on every host
// and works on core files and on threads of another machine. The same offsets
// make fixups/c/xol_linux.h.
//
// What a structure does not hold, programs cannot have: Run returns
// [fixups.ErrNoRegister], and a plan's Needs says beforehand whether it will ask
// (see [Serves]).
package linux
