package ehframe

// FromHeader returns where .eh_frame begins according to an .eh_frame_hdr
// section: the way to it in a file without section headers. hdr has the bytes
// and address of .eh_frame_hdr; its other tables only index what .eh_frame says
// in full, and are not read (LSB Core, "The .eh_frame_hdr section").
func (s *Section) FromHeader() (addr uint64, err error) {
	r := reader{s: s, data: s.Data}
	version, ptr := r.byte(), encoding(r.byte())
	r.take(2) // encodings of the count and of the table
	if r.err == nil && version != 1 {
		r.fail("eh_frame_hdr version %d", version)
	}
	if r.err == nil && ptr == peOmit {
		r.fail("eh_frame_hdr without pointer to eh_frame")
	}
	addr = r.pointer(ptr, 0)
	return addr, r.err
}
