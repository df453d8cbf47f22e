package unhook

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// ErrFormat is wrapped by errors about files that are not programs in which hooks can be found.
var ErrFormat = errors.New("not a program from which hooks can be removed")

// Needless reports whether all reads, or all writes, on a line of a source file need no checking. Names of
// files are as the compiler has recorded them.
type Needless func(file string, line int, write bool) bool

// Result says what Program has done.
type Result struct {
	Accesses int // hooks of accesses that were removed
	Frames   int // functions that do not report their entry and exit any more
	Kept     int // hooks of accesses that are needless, in functions that cannot be decoded
}

// Program removes hooks from the executable at path, in place. If there is an error, the file may have lost
// some of the hooks, but is a valid program.
func Program(path string, needless Needless) (r Result, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p, err := open(file)
	if err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range p.functions {
		code := p.text[f.start-p.start : f.end-p.start]
		cuts, kept := p.cuts(f, code, needless)
		r.Kept += kept
		if len(cuts) == 0 {
			continue
		}
		for _, c := range cuts {
			if c.call == grows {
				p.machine.redirect(code, c.at, f.start, p.unchecked)
			} else {
				p.machine.erase(code[c.at:])
			}
			switch c.call {
			case enters:
				r.Frames++
			case reads, writes, grows:
				r.Accesses++
			}
		}
		if _, err := file.WriteAt(code, p.offset+int64(f.start-p.start)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// program is an executable.
type program struct {
	machine   machine
	start     uint64 // address of text
	offset    int64  // of text in the file
	text      []byte
	functions []function // in the order of their addresses
	calls     map[uint64]call
	unchecked uint64 // address of heisenGrowslice; 0 if there is none
	lines     *gosym.Table
}

// function is the code of a function.
type function struct{ start, end uint64 }

// call says what a called function is.
type call uint8

const (
	other  call = iota // anything that may report something or call what does
	silent             // calls and reports nothing that needs the present frame
	reads              // hooks
	writes
	grows // growslice, which reads what it copies
	enters
	exits
)

// machines are the supported processors.
var machines = map[elf.Machine]machine{elf.EM_X86_64: amd64{}, elf.EM_AARCH64: arm64{}}

// Supports reports whether Program can change programs for a port of Go.
func Supports(goos, goarch string) bool {
	return (goos == "linux" || goos == "freebsd") && (goarch == "amd64" || goarch == "arm64")
}

func open(file *os.File) (*program, error) {
	e, err := elf.NewFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	p := &program{calls: map[uint64]call{}}
	if p.machine = machines[e.Machine]; p.machine == nil {
		return nil, fmt.Errorf("%w: processor %v", ErrFormat, e.Machine)
	}
	text := e.Section(".text")
	table := e.Section(".gopclntab")
	if table == nil { // the name in position-independent executables
		table = e.Section(".data.rel.ro.gopclntab")
	}
	if text == nil || table == nil {
		return nil, fmt.Errorf("%w: it has no code or no table of lines", ErrFormat)
	}
	symbols, err := e.Symbols()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	p.start, p.offset = text.Addr, int64(text.Offset)
	first := p.start // of Go's own code
	for _, s := range symbols {
		if s.Name == "runtime.text" {
			first = s.Value
		}
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		if kind := callOf(s.Name); kind != other {
			p.calls[s.Value] = kind
		}
		if s.Name == "runtime.heisenGrowslice" {
			p.unchecked = s.Value
		}
		if s.Size > 0 && s.Value >= text.Addr && s.Value-text.Addr < text.Size && s.Size <= text.Size-(s.Value-text.Addr) {
			p.functions = append(p.functions, function{s.Value, s.Value + s.Size})
		}
	}
	slices.SortFunc(p.functions, func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	p.functions = slices.CompactFunc(p.functions, func(a, b function) bool { return a.start == b.start }) // several names
	if p.text, err = text.Data(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	data, err := table.Data()
	if err == nil {
		p.lines, err = gosym.NewTable(nil, gosym.NewLineTable(data, first))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return p, nil
}

// callOf returns what the function with the given name is.
func callOf(name string) call {
	rest, ours := strings.CutPrefix(name, "runtime.")
	if !ours {
		return other
	}
	switch rest {
	case "raceread", "racereadrange":
		return reads
	case "racewrite", "racewriterange":
		return writes
	case "growslice":
		return grows
	case "racefuncenter":
		return enters
	case "racefuncexit":
		return exits
	}
	for _, prefix := range []string{"morestack", "gcWriteBarrier", "panicIndex", "panicSlice", "panicBounds", "panicdivide", "panicshift", "panicnil"} {
		if strings.HasPrefix(rest, prefix) {
			return silent
		}
	}
	return other
}

// cut is a call to remove, or to redirect if it is one of growslice, at an offset in the code of its function.
type cut struct {
	at   int
	call call
}

// cuts returns the calls to remove from a function, or the number of needless ones if the code cannot be
// decoded.
func (p *program) cuts(f function, code []byte, needless Needless) (cuts []cut, kept int) {
	hook := func(s site) (c call, cut bool) {
		c = p.calls[s.target]
		if c != reads && c != writes && (c != grows || !p.machine.reaches(f.start+uint64(s.at), p.unchecked)) {
			return c, false
		}
		file, line, _ := p.lines.PCToLine(f.start + uint64(s.at))
		return c, s.ofFrame || needless(file, line, c == writes)
	}
	for _, s := range p.machine.direct(code, f.start) {
		if _, cut := hook(s); cut {
			kept++
		}
	}
	if kept == 0 {
		return nil, 0
	}
	all, ok := p.machine.calls(code, f.start)
	if !ok {
		return nil, kept
	}
	quiet := true // nothing is left that needs the frame
	var frame []cut
	for _, s := range all {
		switch c, needless := hook(s); {
		case needless:
			cuts = append(cuts, cut{s.at, c})
			quiet = quiet && c != grows // which allocates
		case c == enters || c == exits:
			frame = append(frame, cut{s.at, c})
		case c != silent:
			quiet = false
		}
	}
	if quiet {
		cuts = append(cuts, frame...)
	}
	return cuts, 0
}
