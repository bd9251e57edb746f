package objfile

import "debug/elf"

// machine says how one combination of e_machine, class and byte order is called.
type machine struct {
	machine elf.Machine
	class   elf.Class
	data    elf.Data // ELFDATANONE: either
	arch    string   // GOARCH spelling
}

// machines lists what is served, first match first. The ELF class matters as
// much as e_machine: EM_X86_64 with 32-bit addresses is the x32 ABI, whose
// instructions are those of amd64. AArch64 instructions are little-endian in
// either data order, so both orders are arm64.
var machines = [...]machine{
	{elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB, "amd64"},
	{elf.EM_X86_64, elf.ELFCLASS32, elf.ELFDATA2LSB, "amd64"},
	{elf.EM_386, elf.ELFCLASS32, elf.ELFDATA2LSB, "386"},
	{elf.EM_AARCH64, elf.ELFCLASS64, elf.ELFDATANONE, "arm64"},
	{elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2MSB, "ppc64"},
	{elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2LSB, "ppc64le"},
	{elf.EM_RISCV, elf.ELFCLASS64, elf.ELFDATA2LSB, "riscv64"},
	{elf.EM_S390, elf.ELFCLASS64, elf.ELFDATA2MSB, "s390x"},
}

// archName returns the GOARCH spelling, or "" for a machine that is not served.
func archName(m elf.Machine, class elf.Class, data elf.Data) string {
	for _, e := range machines {
		if e.machine == m && e.class == class && (e.data == data || e.data == elf.ELFDATANONE) {
			return e.arch
		}
	}
	return ""
}
