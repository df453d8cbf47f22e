package accesstable

import (
	"debug/gosym"
	"errors"
	"fmt"
	"strings"
)

// ErrTooLarge is wrapped by the error about a program whose code or data does not lie within two gigabytes.
var ErrTooLarge = errors.New("the program is too large")

// Find returns the places of a plain program. instrumented is the same program built by package build with all accesses
// instrumented.
func Find(plain, instrumented string) (*Table, error) {
	lines, err := findHooks(instrumented)
	if err != nil {
		return nil, err
	}
	im, err := open(plain)
	if err != nil {
		return nil, err
	}
	defer im.file.Close()
	s := newSearch(im, lines)
	for i := range im.table.Funcs {
		if err := s.function(&im.table.Funcs[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", plain, err)
		}
	}
	return s.choose(), nil
}

// facts is what is known of a line: kinds of accesses that the instrumented build tells of, and what keeps the line from being
// sampled.
type facts uint8

const (
	atomicHere facts = 4 << iota // an atomic operation
	cacheHere                    // a type assertion that looks into a cache, which the runtime replaces
)

// A reason says why an instruction is not in the table.
type reason uint8

const (
	certain reason = iota
	noAccess
	otherInstruction
	leftOut
	madeUp
	noHook
	atomicLine
	cacheLine
)

// search is the search for the places of a program.
type search struct {
	*image
	lines      map[Line]facts
	leftOut    map[string]bool    // files, see isLeftOut
	special    map[uint64]special // functions, by address
	runtimes   map[int32]bool     // variables that code uses that is not sampled, from the start of the text
	candidates []Place
	stats      Stats
}

// special is a function that code calls where the compiler has added accesses.
type special uint8

const (
	writeBarrier  special = iota + 1 // it returns a buffer, to which the caller writes pointers
	typeAssertion                    // the caller has looked into a cache
)

func newSearch(im *image, lines map[Line]facts) *search {
	s := &search{image: im, lines: lines, leftOut: map[string]bool{}, special: map[uint64]special{}, runtimes: map[int32]bool{}}
	for i := range im.table.Funcs {
		switch f := &im.table.Funcs[i]; {
		case strings.HasPrefix(f.Name, "runtime.gcWriteBarrier"), f.Name == "gcWriteBarrier":
			s.special[f.Entry] = writeBarrier
		case f.Name == "runtime.typeAssert", f.Name == "runtime.interfaceSwitch":
			s.special[f.Entry] = typeAssertion
		}
	}
	return s
}

// function looks at the instructions of a function.
func (s *search) function(f *gosym.Func) error {
	code := s.code(f)
	if code == nil || s.isAssembly(f) {
		return nil
	}
	all := decode(code)
	if all == nil {
		s.stats.Unreadable++
		return nil
	}
	s.calls(f, all)
	left := neverSampled(packageOf(f.Name))
	for i := range all {
		pc := f.Entry + uint64(all[i].at)
		if all[i].isAtomic() {
			s.lines[s.line(pc)] |= atomicHere
		} else if err := s.instruction(&all[i], pc, left); err != nil {
			return err
		}
	}
	return nil
}

// calls looks at the calls of a function behind which are accesses that the compiler has added.
func (s *search) calls(f *gosym.Func, all []instruction) {
	for i := range all {
		switch s.called(f, &all[i]) {
		case writeBarrier:
			// The block has the old pointers, too, which it reads for the garbage collector.
			markBlock(all, i)
		case typeAssertion:
			s.lines[s.line(f.Entry+uint64(all[i].at))] |= cacheHere
		}
	}
}

// called returns which special function an instruction calls.
func (s *search) called(caller *gosym.Func, in *instruction) special {
	to, ok := in.branch()
	if !ok || !in.isCall() {
		return 0
	}
	return s.special[caller.Entry+uint64(int64(to))]
}

// instruction adds an instruction to the candidates if it accesses memory.
func (s *search) instruction(in *instruction, pc uint64, left bool) error {
	p, why := in.access()
	if why == certain && p.Base == Text {
		target := int64(pc) + int64(in.Len) + int64(p.Disp)
		if !s.isWritten(uint64(target)) {
			return nil
		}
		distance := target - int64(s.text)
		if p.Disp = int32(distance); int64(p.Disp) != distance {
			return ErrTooLarge
		}
		if left {
			s.runtimes[p.Disp] = true
		}
	}
	if why == noAccess {
		return nil
	}
	if !left {
		p.Source = s.line(pc)
	}
	switch {
	case left || s.isLeftOut(p.Source.File):
		why = leftOut
	case in.added:
		why = madeUp
	}
	if why != certain {
		s.stats.count(why)
		return nil
	}
	p.PC, p.First = uint32(pc-s.text), s.bytes[pc-s.codeAt]
	s.candidates = append(s.candidates, p)
	return nil
}

// choose returns the table of the candidates that are certain.
func (s *search) choose() *Table {
	t := &Table{text: s.codeAt + uint64(len(s.bytes)) - s.text}
	for _, p := range s.candidates {
		why := s.why(&p)
		if why == certain {
			t.Places = append(t.Places, p)
		}
		s.stats.count(why)
	}
	t.Stats = s.stats
	return t
}

// why returns why a candidate is not in the table, or certain.
func (s *search) why(p *Place) reason {
	line := s.lines[p.Source]
	switch {
	case p.Base == Text && (s.runtimes[p.Disp] || s.isCounter(s.text+uint64(int64(p.Disp)))):
		return madeUp
	case line&atomicHere != 0:
		return atomicLine
	case line&cacheHere != 0:
		return cacheLine
	case Kind(line)&p.Kind != p.Kind:
		return noHook
	}
	return certain
}

func (s *search) isLeftOut(file string) bool {
	left, known := s.leftOut[file]
	if !known {
		left = isLeftOut(file)
		s.leftOut[file] = left
	}
	return left
}

// line returns the line of an address: that of the innermost function if functions were expanded there.
func (im *image) line(pc uint64) Line {
	file, line, _ := im.table.PCToLine(pc)
	return Line{strings.TrimPrefix(file, im.std), line}
}
