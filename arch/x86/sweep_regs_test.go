package x86_test

import (
	"testing"

	"github.com/xol-go/xol/internal/witness"
	"github.com/xol-go/xol/reloc"
)

type registerSweep struct{ regs []witness.Regs }

func (r *registerSweep) buffer(n int) []witness.Regs                               { return r.regs[:n] }
func (r *registerSweep) compare(p *witness.Probe, in *reloc.Insn, z *witness.Regs) {}
func (r *registerSweep) report(t *testing.T, whole bool)                           {}
