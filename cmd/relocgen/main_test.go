package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xol-go/xol/internal/relocgen"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"relocgen": func() { os.Exit(relocgen.Main(os.Args, relocgen.Stdio())) },
	})
}

// TestScript runs the command line as users do. Exit codes are checked by the
// script command status, which runs relocgen and expects a code.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"elf":    writeELF,
			"status": status,
		},
	})
}

// status CODE ARGS... runs relocgen ARGS and demands the exit code; output goes
// to stdout and stderr of the script.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE ARGS...")
	}
	var out, errOut bytes.Buffer
	dir := ts.Getenv("WORK")
	for i, a := range args[2:] {
		if strings.HasPrefix(a, "./") {
			args[2+i] = dir + a[1:]
		}
	}
	code := relocgen.Main(append([]string{"relocgen"}, args[1:]...), &relocgen.Streams{In: strings.NewReader(""), Out: &out, Err: &errOut})
	msg := strings.ReplaceAll(errOut.String(), dir, "$WORK")
	ts.Logf("[stdout]\n%s[stderr]\n%s", out.String(), msg)
	if got := string('0' + rune(code)); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), []byte(msg), 0o644))
}

// writeELF FILE MACHINE ADDR HEX [NAME=OFF:SIZE...] writes a small executable
// whose .text holds the bytes, with function symbols and mapping symbols (%x, %d).
func writeELF(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: elf FILE MACHINE ADDR HEX [NAME=OFF:SIZE...]")
	}
	code, err := hex.DecodeString(args[3])
	ts.Check(err)
	b := elfBuilder{addr: number(ts, args[2]), code: code}
	switch args[1] {
	case "amd64":
		b.machine, b.is64 = 62, true
	case "386":
		b.machine = 3
	case "arm64":
		b.machine, b.is64 = 183, true
	case "ppc64":
		b.machine, b.is64, b.big, b.flags = 21, true, true, 1
	case "ppc64le":
		b.machine, b.is64, b.flags = 21, true, 2
	case "mips":
		b.machine = 8
	default:
		ts.Fatalf("machine %q", args[1])
	}
	for _, s := range args[4:] {
		name, rest, _ := strings.Cut(s, "=")
		off, size, ok := strings.Cut(rest, ":")
		if !ok {
			ts.Fatalf("symbol %q", s)
		}
		if name[0] == '%' {
			name = "$" + name[1:] // which scripts would expand
		}
		b.syms = append(b.syms, symbol{name, number(ts, off), number(ts, size)})
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.build(), 0o644))
}

func number(ts *testscript.TestScript, s string) uint64 {
	var v uint64
	base := uint64(10)
	if h, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = h, 16
	}
	for _, c := range s {
		d := strings.IndexRune("0123456789abcdef", c)
		if d < 0 || uint64(d) >= base {
			ts.Fatalf("number %q", s)
		}
		v = v*base + uint64(d)
	}
	return v
}

type symbol struct {
	name      string
	off, size uint64
}

// elfBuilder lays out: header, one PT_LOAD, .text, .symtab, .strtab, .shstrtab,
// section headers.
type elfBuilder struct {
	machine uint16
	is64    bool
	big     bool   // byte order
	flags   uint32 // e_flags: on Power the number of the ABI
	addr    uint64
	code    []byte
	syms    []symbol
	buf     bytes.Buffer
}

func (b *elfBuilder) put(v ...any) {
	for _, x := range v {
		if w, ok := x.(uint64); ok && !b.is64 {
			x = uint32(w) // words are as wide as addresses
		}
		if b.big {
			binary.Write(&b.buf, binary.BigEndian, x)
		} else {
			binary.Write(&b.buf, binary.LittleEndian, x)
		}
	}
}

func (b *elfBuilder) build() []byte {
	ehdr, phdr, shdr, sym := uint64(52), uint64(32), uint64(40), uint64(16)
	if b.is64 {
		ehdr, phdr, shdr, sym = 64, 56, 64, 24
	}
	const shstr = "\x00.text\x00.symtab\x00.strtab\x00.shstrtab\x00"
	names := "\x00"
	for _, s := range b.syms {
		names += s.name + "\x00"
	}
	text := uint64(0x1000)
	symtab := (text + uint64(len(b.code)) + 7) &^ 7
	strtab := symtab + sym*uint64(len(b.syms)+1)
	shstrtab := strtab + uint64(len(names))
	shoff := (shstrtab + uint64(len(shstr)) + 7) &^ 7
	class := byte(1)
	if b.is64 {
		class = 2
	}
	order := byte(1)
	if b.big {
		order = 2
	}
	b.put([16]byte{0x7f, 'E', 'L', 'F', class, order, 1}, uint16(2), b.machine, uint32(1), b.addr, ehdr, shoff,
		b.flags, uint16(ehdr), uint16(phdr), uint16(1), uint16(shdr), uint16(5), uint16(4))
	size := uint64(len(b.code))
	if b.is64 {
		b.put(uint32(1), uint32(5), text, b.addr, b.addr, size, size, uint64(0x1000))
	} else {
		b.put(uint32(1), text, b.addr, b.addr, size, size, uint32(5), uint64(0x1000))
	}
	b.pad(text)
	b.buf.Write(b.code)
	b.pad(symtab)
	b.symbols(sym)
	b.buf.WriteString(names + shstr)
	b.pad(shoff)
	b.section(0, 0, 0, 0, 0, 0, 0, 0)
	b.section(1, 1, 6, b.addr, text, size, 0, 0)
	b.section(7, 2, 0, 0, symtab, strtab-symtab, 3, sym)
	b.section(15, 3, 0, 0, strtab, uint64(len(names)), 0, 0)
	b.section(23, 3, 0, 0, shstrtab, uint64(len(shstr)), 0, 0)
	return b.buf.Bytes()
}

func (b *elfBuilder) pad(to uint64) { b.buf.Write(make([]byte, to-uint64(b.buf.Len()))) }

func (b *elfBuilder) symbols(size uint64) {
	b.buf.Write(make([]byte, size))
	name := uint32(1)
	for _, s := range b.syms {
		const global, funcType = 1, 2
		info := byte(global<<4 | funcType)
		if s.name[0] == '$' {
			info = 0 // a mapping symbol: local, without a type
		}
		if b.is64 {
			b.put(name, info, byte(0), uint16(1), b.addr+s.off, s.size)
		} else {
			b.put(name, b.addr+s.off, s.size, info, byte(0), uint16(1))
		}
		name += uint32(len(s.name)) + 1
	}
}

func (b *elfBuilder) section(name, typ uint32, flags, addr, off, size uint64, link uint32, entsize uint64) {
	b.put(name, typ, flags, addr, off, size, link, uint32(1), uint64(8), entsize)
}

// TestCLIDoc holds docs/cli.md against the definitions.
func TestCLIDoc(t *testing.T) {
	const name = "../../docs/cli.md"
	want := relocgen.Markdown()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/cli.md is stale (%v): run go test ./cmd/relocgen -update", err)
	}
}
