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
)

// Hidden is packages of which nothing is recorded but the calls of their functions
// by others, as Hide and Reveal events. They are compiled like those that are
// recorded.
type Hidden struct {
	Packages []string // import paths
	// Variables are used by hidden code without having been given to it, besides
	// those of the packages: import path, dot, name.
	Variables []string
	// Constants are variables of the packages that they do not synchronise by: what is
	// only reached by these is in no set. Of a variable in both lists it is Variables that
	// counts.
	Constants []string
	// Limit is how many objects a call may reach before it counts as reaching all;
	// DefaultReach if 0, MaxReach at most.
	Limit int
	// Once has what an object points to looked at once, and again after a pointer was
	// written there (section 4.4.3 of the paper): by an instrumented package, or for one
	// by the runtime, into a slice, map or channel. It misses pointers that packages
	// write which are not instrumented, into objects that are known already; what only
	// they lead to had better not be synchronised on, as the paper asks for, too.
	Once bool
	// Show has what the packages do recorded all the same, with the flag Covered: as
	// if they were not hidden, and as if they were, in one run.
	Show bool
}

// HiddenCode is the flag of an event of hidden code, in a recording that shows it.
const HiddenCode heisen.Flags = 1 << 5

const (
	// DefaultReach is how many objects a hidden call may reach unless it is told
	// otherwise.
	DefaultReach = 1024
	// MaxReach bounds Hidden.Limit.
	MaxReach = 4096

	globalRoot   = 1 << 63 // in the size of a variable: of a hidden package
	globalOpaque = 1 << 62 // in the same: of the runtime
)

// ErrStripped says that a program has no symbol table.
var ErrStripped = errors.New("the program has no symbol table")

// encode returns the message to a program whose text starts at an address. exe is
// its executable: without its symbols every call reaches all objects, and the error is
// ErrStripped.
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
		flags |= hiddenShow
	}
	if h.Once {
		flags |= hiddenOnce
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

// Missing returns those of the variables that a program with this executable does
// not have: there are none of that name, or nothing uses them.
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

// wantedVariable is a variable that somebody has named.
type wantedVariable struct{ constant, found bool }

// symbols returns the variables that are named, by symbol.
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

// variableSymbol is how the compiler writes an import path, a dot and a variable.
func variableSymbol(v string) string {
	dot := max(strings.LastIndexByte(v, '.'), 0)
	return symbolPrefix(v[:dot]) + v[dot:]
}

// symbolPrefix is how the compiler writes an import path before the names of
// functions and variables.
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

// globalsOf returns the variables of a program, by address. Those of packages with
// the prefixes, and those that are wanted, have globalRoot in their size unless they are
// constant, those of the runtime globalOpaque. Of what is wanted it notes that it is
// there.
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
	var moved uint64 // how far from where it is linked for
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
		if strings.HasSuffix(s.Name, "..inittask") { // what the runtime initialises packages by
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

// addReach defines a set of objects.
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
	case reach == follow:
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

// nameCalls asks for the names of hidden functions, which name their calls.
func (s *Stream) nameCalls() {
	if len(s.unnamed) == 0 || s.solve == nil {
		return
	}
	// A site is what comes after a call, so the symboliser looks at the byte before.
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
