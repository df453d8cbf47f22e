package accesstable

import (
	"debug/gosym"
	"errors"
	"fmt"
	"path"
	"strings"
)

// ErrTooLarge is wrapped by the error about a program whose code or data does not lie within two gigabytes.
var ErrTooLarge = errors.New("the program is too large")

// Find returns the places of a plain program. instrumented is the same program built by package build with all accesses
// instrumented.
func Find(plain, instrumented string) (*Table, error) {
	known, err := findHooks(instrumented)
	if err != nil {
		return nil, err
	}
	im, err := open(plain)
	if err != nil {
		return nil, err
	}
	defer im.file.Close()
	t := &Table{text: im.codeAt + uint64(len(im.code)) - im.text}
	var accesses []Place
	for i := range im.table.Funcs {
		if err := t.collect(im, &im.table.Funcs[i], known, &accesses); err != nil {
			return nil, fmt.Errorf("%s: %w", plain, err)
		}
	}
	for _, p := range accesses {
		switch hooks := known[p.Source]; {
		case hooks&atomicHere != 0:
			t.Stats.Atomic++
		case Kind(hooks)&p.Kind != p.Kind:
			t.Stats.NoHook++
		default:
			t.Places = append(t.Places, p)
		}
	}
	t.Stats.Places = len(t.Places)
	return t, nil
}

// collect adds the accesses of a function of a plain program, and the lines with atomic operations.
func (t *Table) collect(im *image, f *gosym.Func, known map[Line]hooks, accesses *[]Place) error {
	file, _, _ := im.table.PCToLine(f.Entry)
	code := im.function(f)
	if code == nil || !strings.HasSuffix(file, ".go") {
		return nil
	}
	all := decode(code)
	if all == nil {
		t.Stats.Unreadable++
		return nil
	}
	left := neverSampled(f.Name)
	for i := range all {
		in := &all[i]
		pc := f.Entry + uint64(in.at)
		if in.isAtomic() {
			known[im.line(pc)] |= atomicHere
			continue
		}
		p, ok := in.access()
		if !ok {
			continue
		}
		if p.Base == Text {
			target := int64(pc) + int64(in.Len) + int64(p.Disp)
			if !im.isWritten(uint64(target)) {
				continue
			}
			distance := target - int64(im.text)
			if p.Disp = int32(distance); int64(p.Disp) != distance {
				return ErrTooLarge
			}
		}
		if left {
			t.Stats.LeftOut++
			continue
		}
		p.PC, p.First, p.Source = uint32(pc-im.text), code[in.at], im.line(pc)
		*accesses = append(*accesses, p)
	}
	return nil
}

// line returns the line of an address: that of the innermost function if functions were expanded there.
func (im *image) line(pc uint64) Line {
	file, line, _ := im.table.PCToLine(pc)
	return Line{file, line}
}

// hooks says what the instrumented build tells of in a line: kinds of accesses, and atomic operations.
type hooks uint8

const atomicHere hooks = 4

// findHooks returns what an instrumented program tells of, by line.
func findHooks(program string) (map[Line]hooks, error) {
	im, err := open(program)
	if err != nil {
		return nil, err
	}
	defer im.file.Close()
	called := map[uint64]hooks{}
	for _, f := range im.table.Funcs {
		if h := hookOf(f.Name); h != 0 {
			called[f.Entry] = h
		}
	}
	known := map[Line]hooks{}
	for i := range im.table.Funcs {
		f := &im.table.Funcs[i]
		code := im.function(f)
		if code == nil || neverSampled(f.Name) {
			continue
		}
		for _, in := range decode(code) {
			if to, ok := in.call(); ok {
				if h := called[f.Entry+uint64(int64(to))]; h != 0 {
					known[im.line(f.Entry+uint64(in.at))] |= h
				}
			}
		}
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%s: nothing is instrumented", program)
	}
	return known, nil
}

// hookOf returns what a call of a function tells of; zero for most functions.
func hookOf(name string) hooks {
	switch name {
	case "runtime.raceread", "runtime.racereadrange":
		return hooks(Reads)
	case "runtime.racewrite", "runtime.racewriterange":
		return hooks(Writes)
	}
	if strings.HasPrefix(name, "sync/atomic.") || strings.HasPrefix(name, "internal/runtime/atomic.") {
		return atomicHere
	}
	return 0
}

// neverSampled reports whether a function belongs to a package that is not sampled: the runtime and what it is made of, because a
// handler of signals may run it; package syscall, because the child of a fork does; and what synchronizes.
func neverSampled(function string) bool {
	pkg := packageOf(function)
	switch first, rest, _ := strings.Cut(pkg, "/"); first {
	case "runtime", "sync", "syscall", "":
		return rest != "pprof" && rest != "trace" && rest != "debug" && rest != "metrics" && rest != "coverage" || first != "runtime"
	case "internal":
		second, _, _ := strings.Cut(rest, "/")
		switch second {
		case "abi", "asan", "bytealg", "byteorder", "chacha8rand", "coverage", "cpu", "goarch", "godebugs", "goexperiment", "goos",
			"msan", "profilerecord", "race", "runtime", "strconv", "stringslite", "sync", "syscall", "trace":
			return true
		}
	case "crypto": // it checks its own code
		return strings.HasPrefix(rest, "internal/fips140")
	case "math":
		return rest == "bits"
	}
	return false
}

// packageOf returns the import path in the name of a function.
func packageOf(function string) string {
	if bracket := strings.IndexByte(function, '['); bracket >= 0 { // type arguments have paths, too
		function = function[:bracket]
	}
	dir, base := path.Split(function)
	base, _, _ = strings.Cut(base, ".")
	return dir + base
}
