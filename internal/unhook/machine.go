package unhook

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// machine knows the instructions of a processor.
type machine interface {
	// direct returns what looks like a call of a fixed address. It finds all such calls.
	direct(code []byte, pc uint64) []site
	// calls returns everything that may leave a function for another one and is no return. It returns
	// false if there is an instruction that it does not know.
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
			found = append(found, site{i, amd64Target(code, i, pc)})
		}
	}
	return found
}

func amd64Target(code []byte, at int, pc uint64) uint64 {
	distance := int32(binary.LittleEndian.Uint32(code[at+1:]))
	return pc + uint64(at) + amd64CallLength + uint64(int64(distance))
}

func (amd64) calls(code []byte, pc uint64) (found []site, ok bool) {
	for at := 0; at < len(code); {
		ins, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			return nil, false
		}
		target, relative := ins.Args[0].(x86asm.Rel)
		switch {
		case ins.Op == x86asm.CALL && code[at] == amd64Call:
			found = append(found, site{at, amd64Target(code, at, pc)})
		case ins.Op == x86asm.CALL, ins.Op == x86asm.LCALL, ins.Op == x86asm.LJMP, ins.Op == x86asm.JMP && !relative, ins.Op == x86asm.SYSCALL:
			found = append(found, site{at: at})
		case relative:
			if to := at + ins.Len + int(target); to < 0 || to >= len(code) {
				found = append(found, site{at, pc + uint64(to)})
			}
		}
		at += ins.Len
	}
	return found, true
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
			found = append(found, site{at, arm64Target(at, word, pc)})
		}
	})
	return found
}

// calls relies on the other instructions of the processor not leaving the function: they are
// conditional branches, whose range is small, and Go uses them within functions only.
func (m arm64) calls(code []byte, pc uint64) (found []site, ok bool) {
	m.each(code, func(at int, word uint32) {
		switch target := arm64Target(at, word, pc); {
		case word>>arm64Distance == arm64BL, word>>arm64Distance == arm64B && (target < pc || target >= pc+uint64(len(code))):
			found = append(found, site{at, target})
		case word&arm64BranchMask == arm64Branch && word&arm64RETBit == 0:
			found = append(found, site{at: at})
		}
	})
	return found, len(code)%arm64Length == 0
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
