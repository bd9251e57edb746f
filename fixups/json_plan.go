package fixups

// The forms of a site in JSON. What is left out is what has no meaning in the
// plan at hand; docs/format.md lists it field by field.

func (o *object) verdicts(e *Entry) {
	if len(e.Forms) == 0 {
		return
	}
	o.list("forms")
	for i := range e.Forms {
		v := &e.Forms[i]
		o.item('{')
		o.str("form", v.Form.String())
		if v.Form != FormEmulate {
			if v.Far {
				o.str("slots", "far")
			} else {
				o.str("slots", "near")
			}
		}
		if v.Reason != ReasonNone {
			o.str("verdict", "refused")
			o.str("reason", v.Reason.String())
		} else {
			o.str("verdict", "plan")
			o.plan(&v.Plan, e.Len)
		}
		o.end('}')
	}
	o.end(']')
}

// plan appends the fields of p, a plan for a site of siteLen bytes.
func (o *object) plan(p *Plan, siteLen uint8) {
	if p.Strategy != StrategyNone {
		o.str("strategy", p.Strategy.String())
	}
	if p.SiteLen != siteLen {
		o.uint("sitelen", uint64(p.SiteLen))
	}
	if len(p.Code) > 0 {
		o.hex("code", p.Code)
		o.relocs(p.Relocs)
		o.reach(p)
	}
	if p.SlotAlign > 1 {
		o.uint("slotalign", uint64(p.SlotAlign))
	}
	if p.CopyLen != 0 {
		o.uint("copylen", uint64(p.CopyLen))
	}
	o.program("pre", p.Pre, false)
	o.program("post", p.Post, false)
	o.program("abort", p.Abort, false)
	o.program("emulate", p.Emulate, p.Form == FormEmulate)
	o.points(p.Points)
	o.regset("clobbers", &p.Clobbers)
	o.regset("lost", &p.Lost)
	o.exits(p)
	o.flag("private", p.Private)
	o.flag("x87", p.X87)
	o.flag("alias", p.Alias)
}

// exits appends how a thread leaves the slot, and what it leaves behind.
func (o *object) exits(p *Plan) {
	if p.Form == FormStep || p.Stop != StopHardware {
		o.str("stop", p.Stop.String())
	}
	if len(p.Code) > 0 || p.Tail != TailNone {
		o.str("tail", p.Tail.String())
	}
	if p.IsCall {
		o.str("returns", p.Returns.String())
	}
	if p.Stack != 0 {
		o.uint("stack", uint64(p.Stack))
	}
	for i, e := range p.Escapes {
		if i == 0 {
			o.list("escapes")
		}
		o.item('{')
		o.uint("off", uint64(e.Off))
		o.str("kind", e.Kind.String())
		o.end('}')
		if i == len(p.Escapes)-1 {
			o.end(']')
		}
	}
	if p.Needs != 0 {
		o.bits("needs", uint8(p.Needs), needNames[:])
	}
}

func (o *object) reach(p *Plan) {
	align := p.Reach.Align > 1
	if p.Far && !align {
		return
	}
	o.key("reach")
	o.dst = append(o.dst, '{')
	if !p.Far {
		o.int("min", p.Reach.Min)
		o.int("max", p.Reach.Max)
	}
	if align {
		o.uint("align", uint64(p.Reach.Align))
		o.uint("residue", uint64(p.Reach.Residue))
	}
	o.end('}')
}

func (o *object) relocs(relocs []Reloc) {
	if len(relocs) == 0 {
		return
	}
	o.list("relocs")
	for i := range relocs {
		r := &relocs[i]
		o.item('{')
		o.uint("off", uint64(r.Off))
		o.uint("lsb", uint64(r.Lsb))
		o.uint("bits", uint64(r.Bits))
		o.uint("shift", uint64(r.Shift))
		o.uint("size", uint64(r.Size))
		o.str("base", r.Base.String())
		if r.Index != 0 || r.Base == BaseInsn || r.Base == BaseReg {
			o.uint("index", uint64(r.Index))
		}
		o.int("addend", r.Addend)
		o.bool("pcrel", r.PCRel)
		o.str("check", r.Check.String())
		if r.Page != 0 {
			o.uint("page", uint64(r.Page))
		}
		o.str("order", r.Order.String())
		o.end('}')
	}
	o.end(']')
}

func (o *object) points(points []Point) {
	if len(points) == 0 {
		return
	}
	o.list("points")
	for i := range points {
		p := &points[i]
		o.item('{')
		o.uint("off", uint64(p.Off))
		o.str("state", p.State.String())
		o.uint("insn", uint64(p.Insn))
		o.program("back", p.Back, p.HasBack)
		o.program("forward", p.Forward, p.HasForward)
		o.regset("lost", &p.Lost)
		o.end('}')
	}
	o.end(']')
}
