package accesstable

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// instruction is a decoded instruction at an offset in its function.
type instruction struct {
	x86asm.Inst
	at int
}

// decode decodes the code of a function. It returns nil if something cannot be decoded, or if a jump leads into the middle of an
// instruction.
func decode(code []byte) []instruction {
	all := make([]instruction, 0, len(code)/4)
	starts := make(map[int]bool, len(code)/4)
	for at := 0; at < len(code); {
		in, err := x86asm.Decode(code[at:], 64)
		if err != nil || in.Len == 0 {
			return nil
		}
		starts[at] = true
		all = append(all, instruction{in, at})
		at += in.Len
	}
	for i := range all {
		in := &all[i]
		to, ok := in.Args[0].(x86asm.Rel)
		if target := in.at + in.Len + int(to); ok && target >= 0 && target < len(code) && !starts[target] {
			return nil
		}
	}
	return all
}

// call returns the offset of the function that an instruction calls, from the caller's start.
func (in *instruction) call() (offset int, ok bool) {
	to, ok := in.Args[0].(x86asm.Rel)
	return in.at + in.Len + int(to), ok && in.Op == x86asm.CALL
}

// isAtomic reports whether an instruction is an atomic operation. Atomic loads are ordinary ones, and are not
// recognized.
func (in *instruction) isAtomic() bool {
	if _, ok := in.memory(); !ok {
		return false
	}
	for _, p := range in.Prefix {
		if p&0xff == x86asm.PrefixLOCK&0xff && p != 0 {
			return true
		}
	}
	return in.Op == x86asm.XCHG
}

// memory returns the memory operand of an instruction.
func (in *instruction) memory() (m x86asm.Mem, ok bool) {
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok {
			return m, true
		}
	}
	return m, false
}

// access returns how an instruction accesses memory that is not the goroutine's own. ok is false if it does not, or in
// a way that is not sampled.
func (in *instruction) access() (p Place, ok bool) {
	m, ok := in.memory()
	if !ok || m.Segment != 0 || in.MemBytes <= 0 || in.MemBytes > 64 || in.isAtomic() {
		return p, false
	}
	kind, ok := in.kind()
	if !ok {
		return p, false
	}
	p = Place{Disp: int32(m.Disp), Scale: m.Scale, Size: uint8(in.MemBytes), Kind: kind}
	base, ok := register(m.Base)
	index, indexOK := register(m.Index)
	const stack, frame, goroutine = 4, 5, 14
	if !ok || !indexOK || m.Base == 0 && m.Index == 0 || index == Text || base == stack || base == goroutine || int64(p.Disp) != m.Disp {
		return p, false
	}
	p.Base, p.Index = base, index
	return p, true
}

// kind returns whether the instruction reads or writes its memory operand, for the instructions that the compiler uses for
// variables.
func (in *instruction) kind() (Kind, bool) {
	_, first := in.Args[0].(x86asm.Mem)
	name := in.Op.String()
	switch in.Op {
	case x86asm.LEA, x86asm.NOP, x86asm.CALL, x86asm.JMP, x86asm.PREFETCHNTA, x86asm.PREFETCHT0, x86asm.PREFETCHT1, x86asm.PREFETCHT2, x86asm.PREFETCHW:
		return 0, false
	case x86asm.TEST: // TESTB AX, (reg) is a check for nil
		return 0, false
	case x86asm.CMP, x86asm.UCOMISD, x86asm.UCOMISS, x86asm.COMISD, x86asm.COMISS, x86asm.BT:
		return Reads, true
	}
	switch {
	case strings.HasPrefix(name, "MOVS") && len(name) == 5 && name != "MOVSX": // a string instruction, or MOVSS
		if in.Op != x86asm.MOVSS {
			return 0, false
		}
	case strings.HasPrefix(name, "SET"):
		return Writes, first
	}
	switch {
	case !first:
		return Reads, !strings.HasPrefix(name, "J")
	case strings.HasPrefix(name, "MOV"):
		return Writes, true
	}
	switch in.Op {
	case x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT,
		x86asm.ADC, x86asm.SBB, x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.ROL, x86asm.ROR, x86asm.BTS, x86asm.BTR, x86asm.BTC:
		return Reads | Writes, true
	case x86asm.DIV, x86asm.IDIV, x86asm.MUL, x86asm.IMUL:
		return Reads, true
	}
	return 0, false
}

// register returns the number of a register in an address.
func register(r x86asm.Reg) (uint8, bool) {
	switch {
	case r == 0:
		return NoRegister, true
	case r == x86asm.RIP:
		return Text, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return uint8(r - x86asm.RAX), true
	}
	return 0, false
}
