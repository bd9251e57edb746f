package fixups

// From the structures of the binary format to the vocabulary. The sections
// have been checked, or come from an [Encoder].

func getSpan(b []byte) span { return span{le.Uint32(b), le.Uint32(b[4:])} }

func getRegs(b []byte) (s RegSet) {
	for i := range s {
		s[i] = le.Uint64(b[8*i:])
	}
	return s
}

// items returns the bytes of a span.
func (v *View) items(sec int, s span) []byte {
	n := secItem[sec]
	return v.sec[sec][int(s.first)*n:][:int(s.count)*n]
}

// shape fills e, whose PC and Bytes are set, from shape id with the given D.
func (v *View) shape(id uint32, d int64, e *Entry) {
	b := v.sec[secShapes][binShape*int(id):][:binShape]
	e.Class, e.Len, e.AltLen, e.Patch, e.Reason = Class(b[0]), b[1], b[2], Patch(b[3]), Reason(b[4])
	e.HasTarget, e.Target = b[5]&binHasTarget != 0, 0
	if e.HasTarget {
		e.Target = e.PC + uint64(d)
	}
	e.Hazards = Hazards(le.Uint64(b[16:]))
	e.Reads, e.Writes, e.Kills = getRegs(b[24:]), getRegs(b[56:]), getRegs(b[88:])
	forms := e.Forms[:0]
	for vb := v.items(secVerdicts, getSpan(b[8:])); len(vb) > 0; vb = vb[binVerdict:] {
		if len(forms) < cap(forms) {
			forms = forms[:len(forms)+1]
		} else {
			forms = append(forms, Verdict{})
		}
		v.verdict(vb[:binVerdict], d, e.Bytes, &forms[len(forms)-1])
	}
	e.Forms = forms
}

func (v *View) verdict(b []byte, d int64, site []byte, out *Verdict) {
	flags := le.Uint16(b[8:])
	out.Form, out.Reason, out.Far = Form(b[0]), Reason(b[1]), flags&binFarAsked != 0
	p := &out.Plan
	p.Reset()
	if out.Reason != ReasonNone {
		return
	}
	p.Form, p.Strategy, p.Tail, p.Stop, p.Returns = out.Form, Strategy(b[2]), Tail(b[3]), Stop(b[4]), Returns(b[5])
	p.SiteLen, p.Needs = b[6], Needs(b[7])
	p.Far, p.IsCall, p.Private = flags&binFar != 0, flags&binIsCall != 0, flags&binPrivate != 0
	p.X87, p.Alias = flags&binX87 != 0, flags&binAlias != 0
	p.SlotAlign, p.Stack, p.CopyLen = le.Uint16(b[10:]), le.Uint16(b[12:]), le.Uint16(b[14:])
	p.Reach = getReach(b, flags, d)
	p.Clobbers, p.Lost = getRegs(b[40:]), getRegs(b[72:])
	p.Code = append(p.Code, v.items(secCode, getSpan(b[104:]))...)
	if flags&binCopy != 0 {
		copy(p.Code, site)
	}
	v.tables(b, d, p)
	p.Pre = v.program(p, getSpan(b[136:]), d)
	p.Post = v.program(p, getSpan(b[144:]), d)
	p.Abort = v.program(p, getSpan(b[152:]), d)
	p.Emulate = v.program(p, getSpan(b[160:]), d)
}

func getReach(b []byte, flags uint16, d int64) Reach {
	r := Reach{Align: le.Uint32(b[32:]), Residue: le.Uint32(b[36:])}
	if flags&binFar != 0 {
		all := AnyReach()
		r.Min, r.Max = all.Min, all.Max
		return r
	}
	r.Min, r.Max = int64(le.Uint64(b[16:])), int64(le.Uint64(b[24:]))
	if flags&binMinD != 0 {
		r.Min = max(r.Min, d+int64(le.Uint64(b[168:])))
	}
	if flags&binMaxD != 0 {
		r.Max = min(r.Max, d+int64(le.Uint64(b[176:])))
	}
	return r
}

func (v *View) tables(b []byte, d int64, p *Plan) {
	for rb := v.items(secRelocs, getSpan(b[112:])); len(rb) > 0; rb = rb[24:] {
		p.Relocs = append(p.Relocs, getReloc(rb, d))
	}
	for eb := v.items(secEscapes, getSpan(b[120:])); len(eb) > 0; eb = eb[4:] {
		p.Escapes = append(p.Escapes, Escape{Off: le.Uint16(eb), Kind: EscapeKind(eb[2])})
	}
	for pb := v.items(secPoints, getSpan(b[128:])); len(pb) > 0; pb = pb[56:] {
		p.Points = append(p.Points, Point{
			Off: le.Uint16(pb), Insn: le.Uint16(pb[2:]), State: State(pb[4]),
			HasBack: pb[5]&binHasBack != 0, HasForward: pb[5]&binHasForward != 0,
			Back: v.program(p, getSpan(pb[8:]), d), Forward: v.program(p, getSpan(pb[16:]), d), Lost: getRegs(pb[24:]),
		})
	}
}

func getReloc(b []byte, d int64) Reloc {
	b = b[:24]
	r := Reloc{
		Addend: int64(le.Uint64(b)), Off: le.Uint16(b[8:]), Index: le.Uint16(b[10:]), Size: b[12], Lsb: b[13], Bits: b[14], Shift: b[15],
		Page: b[16], Base: Base(b[17]), Check: Check(b[18]), Order: Order(b[19]), PCRel: b[20]&binPCRel != 0,
	}
	if b[20]&binAddendD != 0 {
		r.Addend += d
	}
	return r
}

// program copies the steps of a span into p's storage.
func (v *View) program(p *Plan, s span, d int64) Program {
	if s.count == 0 {
		return nil
	}
	n := len(p.steps)
	for b := v.items(secSteps, s); len(b) > 0; b = b[32:] {
		p.steps = append(p.steps, getStep(b, d))
	}
	return p.steps[n:len(p.steps):len(p.steps)]
}

func getStep(b []byte, d int64) Step {
	b = b[:32]
	return Step{
		Op: Op(b[0]), Cond: Cond(b[1]), Order: End(b[2]), Size: b[3], Lsb: b[4], Width: b[5], Skip: b[6],
		Dst: Operand{Kind: OperandKind(b[7]), Reg: Reg(le.Uint16(b[10:]))},
		A:   getOperand(b[8], le.Uint16(b[12:]), le.Uint64(b[16:]), d),
		B:   getOperand(b[9], le.Uint16(b[14:]), le.Uint64(b[24:]), d),
	}
}

func getOperand(kind uint8, reg uint16, val uint64, d int64) Operand {
	o := Operand{Kind: OperandKind(kind &^ binPlusD), Reg: Reg(reg), Val: int64(val)}
	if kind&binPlusD != 0 {
		o.Val += d
	}
	return o
}
