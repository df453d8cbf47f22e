package accesstable

import (
	"golang.org/x/arch/x86/x86asm"
)

// instruction is a decoded instruction at an offset in its function.
type instruction struct {
	x86asm.Inst
	at     int
	target bool // a jump of the function leads here
	added  bool // it accesses nothing of the source
}

// decode decodes the code of a function. It returns nil if something cannot be decoded, or if a jump leads into the middle of an
// instruction.
func decode(code []byte) []instruction {
	all := make([]instruction, 0, len(code)/4)
	number := make([]int32, len(code)) // of the instruction that starts at an offset, counted from 1
	for at := 0; at < len(code); {
		in, err := x86asm.Decode(code[at:], 64)
		if err != nil || in.Len == 0 {
			return nil
		}
		all = append(all, instruction{Inst: in, at: at})
		number[at] = int32(len(all))
		at += in.Len
	}
	for i := range all {
		target, ok := all[i].branch()
		if !ok || target < 0 || target >= len(code) {
			continue
		}
		if number[target] == 0 {
			return nil
		}
		all[number[target]-1].target = true
	}
	for i := range all {
		if r, ok := all[i].Args[0].(x86asm.Reg); ok && all[i].isCall() {
			markCode(all[:i], r)
		}
	}
	return all
}

// markCode marks the instruction that loads the address of the code which is called behind them. It is in a table of methods or
// in a function value, and never changes.
func markCode(before []instruction, register x86asm.Reg) {
	for i := len(before) - 1; i >= 0 && !before[i].isCall(); i-- {
		if in := &before[i]; in.Args[0] == register {
			in.added = in.Op == x86asm.MOV
			return
		}
	}
}

// markBlock marks the instructions around one that are executed whenever it is.
func markBlock(all []instruction, number int) {
	for i := number; i >= 0 && (i == number || !all[i].leaves()); i-- {
		all[i].added = true
		if all[i].target {
			break
		}
	}
	for i := number + 1; i < len(all) && !all[i].target; i++ {
		all[i].added = true
		if all[i].leaves() {
			break
		}
	}
}

// branch returns where an instruction jumps to or which function it calls, from the start of its own function.
func (in *instruction) branch() (offset int, ok bool) {
	to, ok := in.Args[0].(x86asm.Rel)
	return in.at + in.Len + int(to), ok
}

// isCall reports whether an instruction is a call.
func (in *instruction) isCall() bool { return in.Op == x86asm.CALL }

// leaves reports whether the instruction that is executed next may be another one than that behind it.
func (in *instruction) leaves() bool {
	_, relative := in.Args[0].(x86asm.Rel)
	return relative || in.isCall() || in.Op == x86asm.JMP || in.Op == x86asm.RET
}

// isAtomic reports whether an instruction is an atomic operation. Atomic loads are ordinary ones, and are not
// recognized.
func (in *instruction) isAtomic() bool {
	if _, ok := in.memory(); !ok {
		return false
	}
	for _, p := range in.Prefix {
		if p != 0 && p&0xff == x86asm.PrefixLOCK&0xff {
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

// access returns how an instruction accesses memory that is not the goroutine's own, or a reason why it is not sampled.
// The displacement of a place whose base is Text is still the instruction's.
func (in *instruction) access() (p Place, why reason) {
	m, ok := in.memory()
	base, known := register(m.Base)
	index, indexKnown := register(m.Index)
	const stack, frame, goroutine = 4, 5, 14
	switch {
	case !ok || in.Op == x86asm.LEA || in.Op == x86asm.NOP || base == stack || base == frame || base == goroutine || m.Segment != 0:
		return p, noAccess
	case in.isNilCheck():
		return p, noAccess
	}
	kind := in.kind()
	if kind == 0 || !known || !indexKnown || m.Base == 0 && m.Index == 0 || index == Text || in.MemBytes <= 0 || in.MemBytes > largest || int64(int32(m.Disp)) != m.Disp {
		return p, otherInstruction
	}
	return Place{Disp: int32(m.Disp), Base: base, Index: index, Scale: max(m.Scale, 1), Size: uint8(in.MemBytes), Kind: kind}, certain
}

// isNilCheck reports whether an instruction is TESTB AX, (reg), with which the compiler checks for nil.
func (in *instruction) isNilCheck() bool {
	return in.Op == x86asm.TEST && in.Args[1] == x86asm.AL
}

// kind returns what the instruction does with its memory operand. It is zero for instructions that the compiler does not
// use for variables, and for those that access memory only sometimes.
func (in *instruction) kind() Kind {
	if _, first := in.Args[0].(x86asm.Mem); first {
		return targets[in.Op]
	}
	if sources[in.Op] {
		return Reads
	}
	return 0
}

// targets are instructions whose first operand may be a variable, and what they do with it.
var targets = map[x86asm.Op]Kind{
	x86asm.CMP: Reads, x86asm.TEST: Reads, x86asm.BT: Reads,
	x86asm.MUL: Reads, x86asm.IMUL: Reads, x86asm.DIV: Reads, x86asm.IDIV: Reads,

	x86asm.MOV: Writes, x86asm.MOVBE: Writes, x86asm.MOVSS: Writes, x86asm.MOVSD_XMM: Writes, x86asm.MOVQ: Writes, x86asm.MOVD: Writes,
	x86asm.MOVUPS: Writes, x86asm.MOVUPD: Writes, x86asm.MOVAPS: Writes, x86asm.MOVDQU: Writes, x86asm.MOVDQA: Writes,
	x86asm.SETA: Writes, x86asm.SETAE: Writes, x86asm.SETB: Writes, x86asm.SETBE: Writes, x86asm.SETE: Writes, x86asm.SETNE: Writes,
	x86asm.SETG: Writes, x86asm.SETGE: Writes, x86asm.SETL: Writes, x86asm.SETLE: Writes, x86asm.SETS: Writes, x86asm.SETNS: Writes,
	x86asm.SETO: Writes, x86asm.SETNO: Writes, x86asm.SETP: Writes, x86asm.SETNP: Writes,

	x86asm.ADD: Reads | Writes, x86asm.SUB: Reads | Writes, x86asm.ADC: Reads | Writes, x86asm.SBB: Reads | Writes,
	x86asm.AND: Reads | Writes, x86asm.OR: Reads | Writes, x86asm.XOR: Reads | Writes, x86asm.NOT: Reads | Writes, x86asm.NEG: Reads | Writes,
	x86asm.INC: Reads | Writes, x86asm.DEC: Reads | Writes, x86asm.BTS: Reads | Writes, x86asm.BTR: Reads | Writes, x86asm.BTC: Reads | Writes,
	x86asm.SHL: Reads | Writes, x86asm.SHR: Reads | Writes, x86asm.SAR: Reads | Writes, x86asm.ROL: Reads | Writes, x86asm.ROR: Reads | Writes,
}

// sources are instructions that may have a variable as a further operand, and read it.
var sources = opSet(
	x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.MOVBE, x86asm.MOVSS, x86asm.MOVSD_XMM, x86asm.MOVQ, x86asm.MOVD,
	x86asm.MOVUPS, x86asm.MOVUPD, x86asm.MOVAPS, x86asm.MOVDQU, x86asm.MOVDQA,
	x86asm.CMP, x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.ADC, x86asm.SBB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.IMUL,
	x86asm.POPCNT, x86asm.BSF, x86asm.BSR, x86asm.LZCNT, x86asm.TZCNT,
	x86asm.ADDSS, x86asm.SUBSS, x86asm.MULSS, x86asm.DIVSS, x86asm.SQRTSS, x86asm.UCOMISS, x86asm.COMISS,
	x86asm.ADDSD, x86asm.SUBSD, x86asm.MULSD, x86asm.DIVSD, x86asm.SQRTSD, x86asm.UCOMISD, x86asm.COMISD,
	x86asm.CVTSI2SD, x86asm.CVTSI2SS, x86asm.CVTSD2SS, x86asm.CVTSS2SD, x86asm.CVTTSD2SI, x86asm.CVTTSS2SI,
)

func opSet(ops ...x86asm.Op) map[x86asm.Op]bool {
	set := map[x86asm.Op]bool{}
	for _, op := range ops {
		set[op] = true
	}
	return set
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
