package fixups

// Check is how the value of a [Reloc] is held against its field.
type Check uint8

const (
	// CheckNone: the value fits by construction; excess bits are dropped.
	CheckNone Check = iota
	// CheckSigned: the value must fit as a two's complement number.
	CheckSigned
	// CheckUnsigned: the value must fit as an unsigned number.
	CheckUnsigned
	// CheckWrap: the value is taken modulo the field on purpose.
	CheckWrap
)

var checkNames = [...]string{
	CheckNone:     "none",
	CheckSigned:   "signed",
	CheckUnsigned: "unsigned",
	CheckWrap:     "wrap",
}

// String returns the frozen spelling.
func (c Check) String() string { return enumString("check", uint8(c), checkNames[:]) }

// AppendText implements [encoding.TextAppender].
func (c Check) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "check", uint8(c), checkNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (c Check) MarshalText() ([]byte, error) { return c.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Check) UnmarshalText(text []byte) error {
	n, err := enumParse("check", text, checkNames[:])
	*c = Check(n)
	return err
}

// Base is what the value of a [Reloc] is measured from.
type Base uint8

const (
	// BaseSite: the address of the site.
	BaseSite Base = iota
	// BaseSlot: the address of the slot.
	BaseSlot
	// BaseData: the address of the slot's private data.
	BaseData
	// BaseInsn: the copy of the n-th stolen instruction of a region.
	BaseInsn
	// BaseReg: a register's value when the probe is hit (private slots only).
	BaseReg
)

var baseNames = [...]string{
	BaseSite: "site",
	BaseSlot: "slot",
	BaseData: "data",
	BaseInsn: "insn",
	BaseReg:  "reg",
}

// String returns the frozen spelling.
func (b Base) String() string { return enumString("base", uint8(b), baseNames[:]) }

// AppendText implements [encoding.TextAppender].
func (b Base) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "base", uint8(b), baseNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (b Base) MarshalText() ([]byte, error) { return b.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *Base) UnmarshalText(text []byte) error {
	n, err := enumParse("base", text, baseNames[:])
	*b = Base(n)
	return err
}

// Order is the byte order of a field: that of instructions or that of data.
type Order uint8

const (
	// OrderInsn: the order in which the ISA stores instructions.
	OrderInsn Order = iota
	// OrderData: the order of the process's data.
	OrderData
)

var orderNames = [...]string{
	OrderInsn: "insn",
	OrderData: "data",
}

// String returns the frozen spelling.
func (o Order) String() string { return enumString("order", uint8(o), orderNames[:]) }

// AppendText implements [encoding.TextAppender].
func (o Order) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "order", uint8(o), orderNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (o Order) MarshalText() ([]byte, error) { return o.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *Order) UnmarshalText(text []byte) error {
	n, err := enumParse("order", text, orderNames[:])
	*o = Order(n)
	return err
}
