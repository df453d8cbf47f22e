package recorder

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// Hidden lists hidden packages. Their accesses are not recorded, their synchronization is. The calls of
// their functions by other packages are Hide and Reveal events, with the set heisen.Synchronized.
// The packages are compiled like recorded ones.
type Hidden struct {
	Packages []string // import paths
	// Show also records the accesses. They and the synchronization have the flag HiddenCode: one run
	// then shows the program with and without hidden packages.
	Show bool
}

// HiddenCode is the flag of events of hidden code, in a recording with Hidden.Show.
const HiddenCode heisen.Flags = 1 << 5

// encode returns the message to a program.
func (h *Hidden) encode() []byte {
	flags := uint64(0)
	if h.Show {
		flags |= wire.HiddenShow
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(h.Packages)))
	b = binary.LittleEndian.AppendUint64(b, flags)
	for _, path := range h.Packages {
		p := symbolPrefix(path) + "."
		b = binary.LittleEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
		b = append(b, make([]byte, -len(b)&7)...)
	}
	return b
}

// symbolPrefix returns an import path as the compiler writes it in symbols.
func symbolPrefix(path string) string {
	slash := strings.LastIndexByte(path, '/')
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c <= ' ' || i > slash && c == '.' || c == '%' || c == '"' || c >= 0x7f:
			fmt.Fprintf(&b, "%%%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hiddenCall emits the call of a hidden function, or its return.
func (m *merger) hiddenCall(g *goroutine, op, function, place uint64) error {
	site, err := m.moveTo(g, place)
	if err != nil {
		return err
	}
	r := m.emit(g)
	r.Op, r.Object, r.Site = eventOps[op], heisen.Object(function), site
	if r.Op == heisen.Hide {
		r.Value = uint64(heisen.Synchronized)
	}
	if off := function - m.s.hello.text; off < m.s.hello.size && !m.s.called[uint32(off)] {
		m.s.called[uint32(off)] = true
		m.s.unnamed = append(m.s.unnamed, uint32(off))
	}
	return nil
}

// nameCalls names hidden functions, which name their calls.
func (s *Stream) nameCalls() {
	if len(s.unnamed) == 0 || s.solve == nil {
		return
	}
	frames, err := s.solve.Frames(s.unnamed)
	if err != nil {
		s.solve = nil
		return
	}
	for i, off := range s.unnamed {
		if n := len(frames[i]); n > 0 {
			s.syms.SetName(heisen.Object(s.hello.text+uint64(off)), frames[i][n-1].Func)
		}
	}
	s.unnamed = s.unnamed[:0]
}
