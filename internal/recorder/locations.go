package recorder

import (
	"encoding/binary"
	"fmt"

	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/section"
)

// locations are the source locations in a message to the program, numbered from 1.
type locations struct {
	list     []location
	numberOf map[section.Location]uint32
	names    []string
	nameOf   map[string]uint32
}

// location is a source location. file and function are indexes of names; the function is wire.NoFunction for that of a line
// in whatever function it is.
type location struct{ file, function, line, flags uint32 }

// maxNamed bounds the length of the name of a file or function, in bytes.
const maxNamed = 1 << 12

// number returns the number of a location, which it adds if it is new.
func (l *locations) number(at section.Location) uint32 {
	if n := l.numberOf[at]; n != 0 {
		return n
	}
	flags := uint32(0)
	if at.Mode&section.Reads != 0 {
		flags |= wire.LocationReads
	}
	if at.Mode&section.Writes != 0 {
		flags |= wire.LocationWrites
	}
	n := l.add(at.File, "", at.Line, flags)
	if l.numberOf == nil {
		l.numberOf = map[section.Location]uint32{}
	}
	l.numberOf[at] = n
	return n
}

// add adds a location and returns its number. The function may be empty.
func (l *locations) add(file, function string, line int, flags uint32) uint32 {
	at := location{l.name(file), wire.NoFunction, uint32(line), flags}
	if function != "" {
		at.function = l.name(function)
	}
	l.list = append(l.list, at)
	return uint32(len(l.list))
}

// name returns the index of a name.
func (l *locations) name(name string) uint32 {
	n, known := l.nameOf[name]
	if !known {
		if l.nameOf == nil {
			l.nameOf = map[string]uint32{}
		}
		n = uint32(len(l.names))
		l.nameOf[name] = n
		l.names = append(l.names, name)
	}
	return n
}

// encode appends the locations to a message.
func (l *locations) encode(b []byte) ([]byte, error) {
	b = append32(b, uint32(len(l.list)))
	for _, at := range l.list {
		b = append32(b, at.file, at.function, at.line, at.flags)
	}
	b = append32(b, uint32(len(l.names)))
	for _, name := range l.names {
		if len(name) > maxNamed {
			return nil, fmt.Errorf("a file's or function's name of %d bytes", len(name))
		}
		b = append32(b, uint32(len(name)))
		b = append(b, name...)
		b = append(b, make([]byte, -len(name)&3)...)
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
