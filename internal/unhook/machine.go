package unhook

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// machine knows the instructions of a processor.
type machine interface {
	// direct returns what looks like a call of a fixed address. It finds all such calls.
	direct(code []byte, pc uint64) []site
	// calls returns everything that may leave a function for another one and is no return, in the order of
	// the code. It returns false if there is an instruction that it does not know.
	calls(code []byte, pc uint64) (found []site, ok bool)
	// erase makes the call at the start of code do nothing.
	erase(code []byte)
	// reaches reports whether the call at pc can be redirected to target.
	reaches(pc, target uint64) bool
	// redirect changes the target of the call at an offset in a function's code, which begins at pc.
	redirect(code []byte, at int, pc, target uint64)
}

// site is an instruction at an offset in a function that goes to another one. A target of 0 is not known.
type site struct {
	at     int
	target uint64
	// ofFrame says that the first argument is an address in the frame of the function: the instruction in front
	// of the call computes it, and no jump goes to the call.
	ofFrame bool
}

type amd64 struct{}

// A direct call is an opcode and the distance of the target from the next instruction, in 4 bytes.
const (
	amd64Call       = 0xE8
	amd64CallLength = 5
)

func (amd64) direct(code []byte, pc uint64) (found []site) {
	for i := 0; i+amd64CallLength <= len(code); i++ {
		if code[i] == amd64Call {
			found = append(found, site{at: i, target: amd64Target(code, i, pc)})
		}
	}
	return found
}

func amd64Target(code []byte, at int, pc uint64) uint64 {
	distance := int32(binary.LittleEndian.Uint32(code[at+1:]))
	return pc + uint64(at) + amd64CallLength + uint64(int64(distance))
}

func (amd64) calls(code []byte, pc uint64) (found []site, ok bool) {
	var jumps jumps
	frame := false // the instruction in front puts an address in the frame into AX
	for at := 0; at < len(code); {
		ins, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			return nil, false
		}
		target, relative := ins.Args[0].(x86asm.Rel)
		switch {
		case ins.Op == x86asm.CALL && code[at] == amd64Call:
			found = append(found, site{at, amd64Target(code, at, pc), frame})
		case ins.Op == x86asm.CALL, ins.Op == x86asm.LCALL, ins.Op == x86asm.LJMP, ins.Op == x86asm.JMP && !relative, ins.Op == x86asm.SYSCALL:
			found = append(found, site{at: at})
			jumps.anywhere = jumps.anywhere || ins.Op == x86asm.JMP
		case relative:
			if to := at + ins.Len + int(target); to < 0 || to >= len(code) {
				found = append(found, site{at: at, target: pc + uint64(to)})
			} else {
				jumps.add(to)
			}
		}
		of, memory := ins.Args[1].(x86asm.Mem)
		frame = ins.Op == x86asm.LEA && ins.Args[0] == x86asm.RAX && memory && of.Base == x86asm.RSP && of.Index == 0
		at += ins.Len
	}
	return jumps.check(found), true
}

// jumps has the offsets that jumps within a function go to.
type jumps struct {
	to       map[int]bool
	anywhere bool // a jump whose target is not known
}

func (j *jumps) add(to int) {
	if j.to == nil {
		j.to = map[int]bool{}
	}
	j.to[to] = true
}

// check clears ofFrame of the sites that a jump may go to.
func (j *jumps) check(sites []site) []site {
	for i := range sites {
		s := &sites[i]
		s.ofFrame = s.ofFrame && !j.anywhere && !j.to[s.at]
	}
	return sites
}

// erase writes the instruction of 5 bytes that the processor's manual recommends for nothing.
func (amd64) erase(code []byte) { copy(code, []byte{0x0F, 0x1F, 0x44, 0x00, 0x00}) }

func (amd64) reaches(pc, target uint64) bool {
	distance := int64(target - (pc + amd64CallLength))
	return target != 0 && distance == int64(int32(distance))
}

func (amd64) redirect(code []byte, at int, pc, target uint64) {
	binary.LittleEndian.PutUint32(code[at+1:], uint32(target-(pc+uint64(at)+amd64CallLength)))
}

type arm64 struct{}

// All instructions have 4 bytes. Of BL and B, the lower 26 bits have the distance in words.
const (
	arm64Length   = 4
	arm64BL       = 0b100101
	arm64B        = 0b000101
	arm64Distance = 26
	arm64NOP      = 0xD503201F
	// BLR and BR, with and without authentication of pointers, and RET, which has the bit arm64RETBit.
	arm64Branch     = 0xD6000000
	arm64BranchMask = 0xFE000000
	arm64RETBit     = 1 << 22
	arm64BLRBit     = 1 << 21
	// The conditional branches: by flags, by a register that is zero or not, by a bit.
	arm64BCond         = 0b01010100
	arm64CompareBranch = 0b011010
	arm64TestBranch    = 0b011011
	// ADD of a constant, shifted or not, to RSP, with the result in R0.
	arm64Frame     = 0x910003E0
	arm64FrameMask = 0xFF8003FF
)

func (arm64) each(code []byte, visit func(at int, word uint32)) {
	for at := 0; at+arm64Length <= len(code); at += arm64Length {
		visit(at, binary.LittleEndian.Uint32(code[at:]))
	}
}

func arm64Target(at int, word uint32, pc uint64) uint64 {
	distance := int64(int32(word<<(32-arm64Distance))) >> (32 - arm64Distance) * arm64Length
	return pc + uint64(at) + uint64(distance)
}

func (m arm64) direct(code []byte, pc uint64) (found []site) {
	m.each(code, func(at int, word uint32) {
		if word>>arm64Distance == arm64BL {
			found = append(found, site{at: at, target: arm64Target(at, word, pc)})
		}
	})
	return found
}

// calls relies on the other instructions of the processor not leaving the function: they are
// conditional branches, whose range is small, and Go uses them within functions only.
func (m arm64) calls(code []byte, pc uint64) (found []site, ok bool) {
	var jumps jumps
	frame := false // the instruction in front puts an address in the frame into R0
	m.each(code, func(at int, word uint32) {
		target := arm64Target(at, word, pc)
		leaves := target < pc || target >= pc+uint64(len(code))
		switch {
		case word>>arm64Distance == arm64BL:
			found = append(found, site{at, target, frame})
		case word>>arm64Distance == arm64B && leaves:
			found = append(found, site{at: at, target: target})
		case word>>arm64Distance == arm64B:
			jumps.add(int(target - pc))
		case word&arm64BranchMask == arm64Branch && word&arm64RETBit == 0:
			found = append(found, site{at: at})
			jumps.anywhere = jumps.anywhere || word&arm64BLRBit == 0
		default:
			if distance, ok := arm64Conditional(word); ok {
				jumps.add(at + distance)
			}
		}
		frame = word&arm64FrameMask == arm64Frame
	})
	return jumps.check(found), len(code)%arm64Length == 0
}

// arm64Conditional returns the distance in bytes of a conditional branch.
func arm64Conditional(word uint32) (distance int, ok bool) {
	switch {
	case word>>24 == arm64BCond, word>>25&0x3F == arm64CompareBranch:
		return int(int32(word<<8)>>13) * arm64Length, true
	case word>>25&0x3F == arm64TestBranch:
		return int(int32(word<<13)>>18) * arm64Length, true
	}
	return 0, false
}

func (arm64) erase(code []byte) { binary.LittleEndian.PutUint32(code, arm64NOP) }

func (arm64) reaches(pc, target uint64) bool {
	distance := int64(target - pc)
	return target != 0 && distance>>(arm64Distance+1) == distance>>63
}

func (arm64) redirect(code []byte, at int, pc, target uint64) {
	word := uint32(target-(pc+uint64(at))) / arm64Length & (1<<arm64Distance - 1)
	binary.LittleEndian.PutUint32(code[at:], arm64BL<<arm64Distance|word)
}
