package accesstable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// A Place is an instruction that accesses a variable.
type Place struct {
	PC     uint32 // from the start of the text
	Disp   int32  // displacement
	First  uint8  // the instruction's first byte
	Base   uint8  // a register, 0 for AX to 15 for R15, or NoRegister, or Text
	Index  uint8  // a register or NoRegister
	Scale  uint8  // of the index
	Size   uint8  // bytes that are accessed
	Kind   Kind
	Source Line // not in the executable
}

// Operands besides registers.
const (
	NoRegister = 16
	Text       = 17 // the start of the text
)

// A Kind says what an instruction does with a variable.
type Kind uint8

// The kinds. An instruction may do both.
const (
	Reads  Kind = 1
	Writes Kind = 2
)

// String returns "read", "write", "read write" or "none".
func (k Kind) String() string {
	switch k & (Reads | Writes) {
	case Reads:
		return "read"
	case Writes:
		return "write"
	case Reads | Writes:
		return "read write"
	}
	return "none"
}

// A Line is a line of the source.
type Line struct {
	File   string // as the program has it, but in the standard library the package's path and the file
	Number int
}

// A Table has the places of a program, in the order of their addresses.
type Table struct {
	Places []Place
	Stats  Stats

	text uint64 // size of the text
}

// Stats counts instructions that may access variables: those of the program's Go code with an operand in memory, besides the
// stack and constants.
type Stats struct {
	Places  int // they are in the table
	NoHook  int // the instrumented build has no such access in their lines
	Atomic  int // their lines have atomic operations
	Caches  int // their lines have type assertions, which look into caches
	MadeUp  int // they are no accesses of the source
	LeftOut int // they are in packages that are never sampled
	Other   int // the compiler does not use such instructions for variables

	Unreadable int // functions that cannot be decoded; their instructions are not counted
}

func (s *Stats) count(why reason) {
	switch why {
	case certain:
		s.Places++
	case otherInstruction:
		s.Other++
	case leftOut:
		s.LeftOut++
	case madeUp:
		s.MadeUp++
	case noHook:
		s.NoHook++
	case atomicLine:
		s.Atomic++
	case cacheLine:
		s.Caches++
	}
}

// ErrNoTable is wrapped by the error about an executable that has no table.
var ErrNoTable = errors.New("no table of accesses")

// The table's form: entries from an offset that is a multiple of alignment, and a trailer at the end of the file.
const (
	alignment   = 4096
	entrySize   = 16
	trailerSize = 32
	version     = 1
	largest     = 64 // bytes that an instruction may access
)

var magic = [8]byte{'h', 'e', 'i', 's', 'e', 'n', 'A', 'T'}

type trailer struct {
	Magic          [8]byte
	Version, Count uint32
	Offset, Text   uint64
}

type entry struct {
	PC                                    uint32
	Disp                                  int32
	First, Base, Index, Scale, Size, Kind uint8
	Reserved                              uint16
}

// isValid reports whether an entry is one that Append writes.
func (e *entry) isValid() bool {
	base, index := e.Base <= NoRegister || e.Base == Text, e.Index <= NoRegister
	scale := e.Scale == 1 || e.Scale == 2 || e.Scale == 4 || e.Scale == 8
	return base && index && scale && 1 <= e.Size && e.Size <= largest && 1 <= e.Kind && Kind(e.Kind) <= Reads|Writes && e.Reserved == 0
}

// Append writes the table at the end of an executable, which must not have one.
func (t *Table) Append(file string) (err error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := readTrailer(f, size); !errors.Is(err, ErrNoTable) {
		return fmt.Errorf("%s has a table of accesses", file)
	}
	_, err = f.Write(t.encode(size))
	return err
}

// encode returns what Append writes to a file of a size.
func (t *Table) encode(size int64) []byte {
	out := make([]byte, -size&(alignment-1), alignment+entrySize*len(t.Places)+trailerSize)
	offset := uint64(size) + uint64(len(out))
	for i := range t.Places {
		p := &t.Places[i]
		out = binary.LittleEndian.AppendUint32(out, p.PC)
		out = binary.LittleEndian.AppendUint32(out, uint32(p.Disp))
		out = append(out, p.First, p.Base, p.Index, p.Scale, p.Size, uint8(p.Kind), 0, 0)
	}
	out = append(out, magic[:]...)
	out = binary.LittleEndian.AppendUint32(out, version)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(t.Places)))
	out = binary.LittleEndian.AppendUint64(out, offset)
	return binary.LittleEndian.AppendUint64(out, t.text)
}

// Read reads the table of an executable. The lines of its places are not known. The error wraps ErrNoTable if there is
// none.
func Read(file string) (*Table, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	t, err := read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

func read(r io.ReaderAt, size int64) (*Table, error) {
	end, err := readTrailer(r, size)
	if err != nil {
		return nil, err
	}
	all := make([]byte, entrySize*int(end.Count))
	if _, err := r.ReadAt(all, int64(end.Offset)); err != nil {
		return nil, err
	}
	t := &Table{text: end.Text, Places: make([]Place, end.Count)}
	last := int64(-1)
	for i := range t.Places {
		var e entry
		if _, err := binary.Decode(all[entrySize*i:], binary.LittleEndian, &e); err != nil {
			return nil, err
		}
		if int64(e.PC) <= last || uint64(e.PC) >= end.Text || !e.isValid() {
			return nil, fmt.Errorf("entry %d of the table of accesses is wrong", i)
		}
		last = int64(e.PC)
		t.Places[i] = Place{PC: e.PC, Disp: e.Disp, First: e.First, Base: e.Base, Index: e.Index, Scale: e.Scale, Size: e.Size, Kind: Kind(e.Kind)}
	}
	t.Stats.Places = len(t.Places)
	return t, nil
}

// readTrailer reads the trailer of a file, and checks that the entries lie in front of it.
func readTrailer(r io.ReaderAt, size int64) (end trailer, err error) {
	var b [trailerSize]byte
	if size < trailerSize {
		return end, ErrNoTable
	}
	if _, err := r.ReadAt(b[:], size-trailerSize); err != nil {
		return end, err
	}
	if _, err := binary.Decode(b[:], binary.LittleEndian, &end); err != nil {
		return end, err
	}
	switch {
	case end.Magic != magic:
		return end, ErrNoTable
	case end.Version != version:
		return end, fmt.Errorf("a table of accesses of version %d, not %d", end.Version, version)
	case end.Offset%alignment != 0 || end.Offset > uint64(size) || end.Offset+uint64(end.Count)*entrySize != uint64(size-trailerSize):
		return end, errors.New("the table of accesses is damaged")
	}
	return end, nil
}
