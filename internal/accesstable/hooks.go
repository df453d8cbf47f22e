package accesstable

import (
	"debug/gosym"
	"fmt"
	"strings"
)

// findHooks returns what an instrumented program tells of, by line.
func findHooks(program string) (map[Line]facts, error) {
	im, err := open(program)
	if err != nil {
		return nil, err
	}
	defer im.file.Close()
	called := map[uint64]facts{}
	for i := range im.table.Funcs {
		f := &im.table.Funcs[i]
		if told := toldBy(f.Name); told != 0 {
			called[f.Entry] = told
		}
	}
	lines := map[Line]facts{}
	for i := range im.table.Funcs {
		f := &im.table.Funcs[i]
		if !neverSampled(packageOf(f.Name)) && !im.isAssembly(f) {
			im.addHooks(f, called, lines)
		}
	}
	for _, told := range lines {
		if Kind(told)&(Reads|Writes) != 0 {
			return lines, nil
		}
	}
	return nil, fmt.Errorf("%s: nothing is instrumented", program)
}

// addHooks adds what a function tells of. called says what it tells by calling others, by their addresses.
func (im *image) addHooks(f *gosym.Func, called map[uint64]facts, lines map[Line]facts) {
	code := im.code(f)
	all := decode(code)
	if all == nil { // there may be atomic operations anywhere
		for i := range code {
			lines[im.line(f.Entry+uint64(i))] |= atomicHere
		}
		return
	}
	for i := range all {
		in := &all[i]
		pc := f.Entry + uint64(in.at)
		if in.isAtomic() {
			lines[im.line(pc)] |= atomicHere
		}
		to, ok := in.branch()
		if told := called[f.Entry+uint64(int64(to))]; ok && told != 0 {
			lines[im.line(pc)] |= told
		}
	}
}

// toldBy returns what a call of a function tells of; zero for most functions.
func toldBy(name string) facts {
	switch name {
	case "runtime.raceread", "runtime.racereadrange":
		return facts(Reads)
	case "runtime.racewrite", "runtime.racewriterange":
		return facts(Writes)
	}
	if strings.HasPrefix(name, "sync/atomic.") || strings.HasPrefix(name, "internal/runtime/atomic.") {
		return atomicHere
	}
	return 0
}
