package accesstable

import (
	"bufio"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// operand is a line of GNU objdump: an instruction with an operand in memory.
var operand = regexp.MustCompile(`^\s*([0-9a-f]+):\t([0-9a-f]{2}) [0-9a-f ]*\t(\S+)\s+([^#]*?)(BYTE|WORD|DWORD|QWORD|XMMWORD) PTR \[([^\]]+)\](?:.*# ([0-9a-f]+))?`)

var operandSizes = map[string]uint8{"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "XMMWORD": 16}

var registerNames = strings.Fields("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15")

// disassembled returns the accesses that GNU objdump sees in a program, by address. Places have no lines.
func disassembled(t *testing.T, program string, text uint64) map[uint32]Place {
	t.Helper()
	command := exec.Command("objdump", "-d", "-w", "-M", "intel", "-j", ".text", program)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Skip(err)
	}
	all := map[uint32]Place{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		m := operand.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		pc, _ := strconv.ParseUint(m[1], 16, 64)
		first, _ := strconv.ParseUint(m[2], 16, 8)
		p := Place{PC: uint32(pc - text), First: uint8(first), Base: NoRegister, Index: NoRegister, Scale: 1, Size: operandSizes[m[5]]}
		p.Kind = kindOf(m[3], m[4] == "")
		if err := p.parse(m[6]); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if p.Base == Text {
			target, _ := strconv.ParseUint(m[7], 16, 64)
			p.Disp = int32(int64(target) - int64(text))
		}
		all[p.PC] = p
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// parse reads an address such as rax+rcx*8-0x10.
func (p *Place) parse(address string) error {
	for _, term := range strings.Split(strings.ReplaceAll(address, "-", "+-"), "+") {
		name, scale, scaled := strings.Cut(term, "*")
		number := -1
		for i, r := range registerNames {
			if r == name {
				number = i
			}
		}
		switch {
		case term == "":
		case name == "rip":
			p.Base = Text
		case number < 0:
			disp, err := strconv.ParseInt(term, 0, 64)
			if err != nil {
				if u, err := strconv.ParseUint(strings.TrimPrefix(term, "0x"), 16, 64); err == nil {
					disp = int64(u)
				} else {
					return err
				}
			}
			p.Disp = int32(disp)
		case scaled:
			n, err := strconv.Atoi(scale)
			if err != nil {
				return err
			}
			p.Index, p.Scale = uint8(number), uint8(n)
		case p.Base == NoRegister:
			p.Base = uint8(number)
		default:
			return fmt.Errorf("two bases")
		}
	}
	return nil
}

// kindOf returns what an instruction does with its operand in memory, which may be the first.
func kindOf(mnemonic string, first bool) Kind {
	switch {
	case !first, strings.HasPrefix(mnemonic, "cmp"), mnemonic == "test", mnemonic == "bt", strings.HasSuffix(mnemonic, "mul"), strings.HasSuffix(mnemonic, "div"):
		return Reads
	case strings.HasPrefix(mnemonic, "mov"), strings.HasPrefix(mnemonic, "set"):
		return Writes
	}
	return Reads | Writes
}

// TestObjdump: another disassembler sees the same access at each place.
func TestObjdump(t *testing.T) {
	tier.Need(t, tier.CI)
	plain, instrumented := buildBoth(t, "testdata/web")
	table, err := Find(plain, instrumented)
	if err != nil {
		t.Fatal(err)
	}
	im, err := open(plain)
	if err != nil {
		t.Fatal(err)
	}
	defer im.file.Close()
	others := disassembled(t, plain, im.text)
	wrong := 0
	for _, p := range table.Places {
		p.Source = Line{}
		if other, ok := others[p.PC]; !ok || other != p {
			if wrong++; wrong <= 10 {
				t.Errorf("%#x: %+v, objdump: %+v", uint64(p.PC)+im.text, p, other)
			}
		}
	}
	t.Logf("%d places, %d differ", len(table.Places), wrong)
}
