package recorder

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// Hidden lists hidden packages. Only the calls of their functions by other packages are recorded,
// as Hide and Reveal events. They are compiled like recorded packages.
type Hidden struct {
	Packages []string // import paths
	// Variables are variables outside of the packages that hidden code uses without being given
	// them: import path, dot, name.
	Variables []string
	// Constants are variables of the packages by which they do not synchronize: what only these
	// reach is in no set. A variable in both lists counts as one of Variables.
	Constants []string
	// Limit is the number of objects that a call may reach before it counts as reaching all:
	// DefaultReach if 0, at most MaxReach.
	Limit int
	// Once scans an object once, and again after a pointer was written to it (section 4.4.3 of the
	// paper). It notices such writes by instrumented packages, and those that the runtime makes for
	// them into slices, maps and channels. Pointers that other packages write into objects already
	// scanned are missed. As in the paper, there should be no synchronization on objects that only
	// such pointers reach.
	Once bool
	// Show also records what the packages do, with the flag HiddenCode: one run then shows the
	// program with and without hidden packages.
	Show bool
}

// HiddenCode is the flag of events of hidden code, in a recording with Hidden.Show.
const HiddenCode heisen.Flags = 1 << 5

const (
	// DefaultReach is the default of Hidden.Limit.
	DefaultReach = 1024
	// MaxReach bounds Hidden.Limit.
	MaxReach = 4096

	globalRoot   = 1 << 63 // in the size of a variable: it belongs to a hidden package
	globalOpaque = 1 << 62 // in the size of a variable: it belongs to the runtime
)

// ErrStripped means that a program has no symbol table.
var ErrStripped = errors.New("the program has no symbol table")

// encode returns the message to a program whose text starts at an address. exe is its executable.
// Without symbols every call reaches all objects, and the error is ErrStripped.
func (h *Hidden) encode(exe io.ReaderAt, text uint64) (message []byte, err error) {
	prefixes := make([]string, len(h.Packages))
	for i, path := range h.Packages {
		prefixes[i] = symbolPrefix(path) + "."
	}
	globals, err := globalsOf(exe, text, prefixes, h.symbols())
	if err != nil {
		globals = nil
	}
	limit := h.Limit
	if limit == 0 {
		limit = DefaultReach
	}
	if limit < 0 || limit > MaxReach {
		return nil, fmt.Errorf("a hidden call cannot be followed to %d objects, but to %d at most", limit, MaxReach)
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(limit))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(prefixes)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(globals)))
	flags := uint64(0)
	if h.Show {
		flags |= wire.HiddenShow
	}
	if h.Once {
		flags |= wire.HiddenOnce
	}
	b = binary.LittleEndian.AppendUint64(b, flags)
	for _, g := range globals {
		b = binary.LittleEndian.AppendUint64(b, g.start)
		b = binary.LittleEndian.AppendUint64(b, g.size)
	}
	for _, p := range prefixes {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
		b = append(b, make([]byte, -len(b)&7)...)
	}
	return b, err
}

// Missing returns the named variables that a program with this executable does not have: they don't
// exist, or nothing uses them.
func (h *Hidden) Missing(exe io.ReaderAt) (variables []string) {
	wanted := h.symbols()
	if _, err := globalsOf(exe, 0, nil, wanted); err != nil {
		return nil
	}
	for _, v := range slices.Concat(h.Variables, h.Constants) {
		if !wanted[variableSymbol(v)].found {
			variables = append(variables, v)
		}
	}
	return variables
}

// wantedVariable is a variable in Variables or Constants.
type wantedVariable struct{ constant, found bool }

// symbols returns the named variables by symbol.
func (h *Hidden) symbols() map[string]wantedVariable {
	wanted := map[string]wantedVariable{}
	for _, v := range h.Constants {
		wanted[variableSymbol(v)] = wantedVariable{constant: true}
	}
	for _, v := range h.Variables {
		wanted[variableSymbol(v)] = wantedVariable{}
	}
	return wanted
}

// variableSymbol returns the symbol of a variable: import path, dot, name.
func variableSymbol(v string) string {
	dot := max(strings.LastIndexByte(v, '.'), 0)
	return symbolPrefix(v[:dot]) + v[dot:]
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

type global struct{ start, size uint64 }

// globalsOf returns the variables of a program by address. Those of packages with the prefixes, and
// the wanted ones, have globalRoot in their size unless they are constant; those of the runtime
// have globalOpaque. It marks the wanted variables that it finds.
func globalsOf(exe io.ReaderAt, text uint64, prefixes []string, wanted map[string]wantedVariable) (globals []global, err error) {
	if exe == nil {
		return nil, ErrStripped
	}
	file, err := elf.NewFile(exe)
	if err != nil {
		return nil, err
	}
	symbols, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStripped, err)
	}
	var moved uint64 // the distance from the address for which it was linked
	found := false
	for _, s := range symbols {
		if s.Name == "runtime.text" {
			moved, found = text-s.Value, true
		}
	}
	if !found {
		return nil, ErrStripped
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_OBJECT || s.Size == 0 || s.Section == elf.SHN_UNDEF || int(s.Section) >= len(file.Sections) {
			continue
		}
		if file.Sections[s.Section].Flags&elf.SHF_WRITE == 0 {
			continue
		}
		g := global{s.Value + moved, s.Size}
		of, named := wanted[s.Name]
		if named {
			of.found = true
			wanted[s.Name] = of
		}
		if strings.HasSuffix(s.Name, "..inittask") { // the runtime's list for initialization
			g.size |= globalOpaque
		} else if named && !of.constant || !named && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s.Name, p) }) {
			g.size |= globalRoot
		} else if strings.HasPrefix(s.Name, "runtime.") || strings.HasPrefix(s.Name, "internal/runtime/") {
			g.size |= globalOpaque
		}
		globals = append(globals, g)
	}
	slices.SortFunc(globals, func(a, b global) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
	return globals, nil
}

// addReach adds a set of objects.
func (s *Stream) addReach(id uint32, words []uint64) error {
	if int(id) != len(s.reach) || len(words)%2 != 0 {
		return s.corrupt("set %d of objects, in %d words", id, len(words))
	}
	spans := make([]heisen.Span, 0, len(words)/2)
	for i := 0; i < len(words); i += 2 {
		spans = append(spans, heisen.Span{Start: heisen.Object(words[i]), Len: words[i+1]})
	}
	s.reach = append(s.reach, s.syms.AddReach(heisen.NewObjects(spans...)))
	return nil
}

// hide emits the call of a hidden function.
func (m *merger) hide(g *goroutine, function uint64, site heisen.Site, stamp, reach uint64) error {
	var set heisen.Reach
	switch {
	case reach == wire.Follow:
		set = m.s.graph.reach(m.s.syms, g.roots, stamp)
	case reach < uint64(len(m.s.reach)):
		set = m.s.reach[reach]
	default:
		return m.s.corrupt("unknown set %d of objects", reach)
	}
	g.roots = g.roots[:0]
	r := m.emit(g)
	r.Op, r.Object, r.Site, r.Value = heisen.Hide, heisen.Object(function), site, uint64(set)
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
	// Sites are return addresses, so the symbolizer looks at the byte before.
	at := make([]uint32, len(s.unnamed))
	for i, off := range s.unnamed {
		at[i] = off + 1
	}
	frames, err := s.solve.Frames(at)
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
