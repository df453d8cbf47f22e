package recorder

import (
	"encoding/binary"
	"fmt"

	"github.com/heisen-go/heisen/section"
)

// locations are the source locations in a message to the program, numbered from 1.
type locations struct {
	list     []location
	numberOf map[section.Location]uint32
	files    []string
	fileOf   map[string]uint32
}

// location is a source location; file is an index.
type location struct{ file, line, flags uint32 }

// Flags of a location. The first three say which operations it stands for; from locationRoles on
// are its roles in scheduling.
const (
	locationReads  = 1 << 0
	locationWrites = 1 << 1
	locationLocks  = 1 << 2
	locationNoise  = 1 << 3
	locationHeal   = 1 << 4
	locationUnfit  = 1 << 5
	locationRoles  = 8
	locationAbove  = 24
)

// maxFile bounds the length of a file's name, in bytes.
const maxFile = 1 << 12

// number returns the number of a location, which it adds if it is new.
func (l *locations) number(at section.Location) uint32 {
	if n := l.numberOf[at]; n != 0 {
		return n
	}
	flags := uint32(0)
	if at.Mode&section.Reads != 0 {
		flags |= locationReads
	}
	if at.Mode&section.Writes != 0 {
		flags |= locationWrites
	}
	n := l.add(at.File, at.Line, flags)
	if l.numberOf == nil {
		l.numberOf = map[section.Location]uint32{}
	}
	l.numberOf[at] = n
	return n
}

// add adds a location and returns its number.
func (l *locations) add(name string, line int, flags uint32) uint32 {
	file, known := l.fileOf[name]
	if !known {
		if l.fileOf == nil {
			l.fileOf = map[string]uint32{}
		}
		file = uint32(len(l.files))
		l.fileOf[name] = file
		l.files = append(l.files, name)
	}
	l.list = append(l.list, location{file, uint32(line), flags})
	return uint32(len(l.list))
}

// encode appends the locations to a message.
func (l *locations) encode(b []byte) ([]byte, error) {
	b = append32(b, uint32(len(l.list)))
	for _, at := range l.list {
		b = append32(b, at.file, at.line, at.flags)
	}
	b = append32(b, uint32(len(l.files)))
	for _, f := range l.files {
		if len(f) > maxFile {
			return nil, fmt.Errorf("a file's name of %d bytes", len(f))
		}
		b = append32(b, uint32(len(f)))
		b = append(b, f...)
		b = append(b, make([]byte, -len(f)&3)...)
	}
	return b, nil
}

func append32(b []byte, v ...uint32) []byte {
	for _, v := range v {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func append64(b []byte, v ...uint64) []byte {
	for _, v := range v {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}
