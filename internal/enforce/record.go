package enforce

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
)

// Recorder makes a Profile of the events of one run. It is a heisen.Detector without findings.
type Recorder struct {
	*heal.Profiler
	p       *Program
	symbols *heisen.Symbols
	aliased map[string]string // variables that are accessed by another name, and where
}

// NewRecorder returns a Recorder for a stream with the given symbols.
func (p *Program) NewRecorder(symbols *heisen.Symbols) (*Recorder, error) {
	r := &Recorder{p: p, symbols: symbols, aliased: map[string]string{}}
	var err error
	r.Profiler, err = heal.NewProfiler(symbols, heal.WithUses(r.variable), heal.WithMaking(r.makes), heal.WithDeferred(p.joined), heal.WithObjects(r.objectsOf()))
	return r, err
}

// variable names the variable that is accessed at the given places, if there is exactly one.
func (r *Recorder) variable(uses []heal.Use) string {
	var common []string
	first := true
	for _, use := range uses {
		names, at := r.names(use)
		switch {
		case at == "" || len(names) == 0:
		case first:
			common, first = names, false
		default:
			common = slices.DeleteFunc(slices.Clone(common), func(n string) bool { return !slices.Contains(names, n) })
		}
	}
	if len(common) != 1 {
		return ""
	}
	return r.known(common[0], uses)
}

// known returns the name of a variable that is accessed at the given places, unless one of them does not name it.
func (r *Recorder) known(variable string, uses []heal.Use) string {
	other, named := "", false // other than where it is made
	for _, use := range uses {
		switch names, at := r.names(use); {
		case at == "":
		case !slices.Contains(names, variable):
			other = at
		default:
			named = named || !r.makes(variable, use)
		}
	}
	// What is only made by its name may be another part of the same object, such as a sync.WaitGroup in a struct.
	if other != "" {
		if named {
			r.aliased[variable] = other
		}
		return ""
	}
	return variable
}

// names returns the variables that may be accessed at a place, and the place in the module, which is empty if the
// access is one of other code.
func (r *Recorder) names(use heal.Use) (names []string, at string) {
	line, ok := r.inModule(use)
	if !ok {
		return nil, ""
	}
	if names = r.p.sites[line][use.Write]; names == nil {
		names = []string{}
	}
	return names, fmt.Sprintf("%s:%d", r.p.relative(line.file), line.line)
}

// inModule returns the line of the module that makes an access, if it is not one of other code.
func (r *Recorder) inModule(use heal.Use) (place, bool) {
	for _, f := range r.symbols.Site(use.Site).Frames {
		if r.p.src.File(f.File) != nil {
			return place{f.File, f.Line}, true
		}
		if !ofSyncMap(f.Func) && !strings.HasPrefix(f.Func, "sync/atomic.") && !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "internal/runtime/") {
			return place{}, false
		}
	}
	return place{}, false
}

// ofSyncMap reports whether a function is part of sync.Map.
func ofSyncMap(name string) bool {
	return slices.ContainsFunc([]string{"sync.(*Map).", "internal/sync.(*HashTrieMap", "internal/sync.(*entry", "internal/sync.(*indirect", "internal/sync.(*node"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// makes reports whether all accesses to a variable at a place make it.
func (r *Recorder) makes(variable string, use heal.Use) bool {
	for _, f := range r.symbols.Site(use.Site).Frames {
		if r.p.src.File(f.File) != nil {
			return r.p.makes(variable, place{f.File, f.Line}, use.Write)
		}
	}
	return false
}

// makes reports whether all accesses to a variable on a line make it: no other goroutine can know of it yet.
func (p *Program) makes(variable string, at place, write bool) bool {
	return slices.Contains(p.sites[at][write], variable) && !slices.Contains(p.known[at][write], variable)
}

// Finish returns the profile of the run, and a line for each variable that is left out because it was accessed by
// another name.
func (r *Recorder) Finish() (*Profile, []string, error) {
	pairs, err := r.Profiler.Profile()
	if err != nil {
		return nil, nil, err
	}
	w := &writer{p: r.p, texts: map[string][]byte{}}
	out := &Profile{Functions: map[string]Function{}}
	out.Pairs = pairs.Rewrite(func(variable string, at heal.Location) (heal.Location, bool) {
		if r.aliased[variable] != "" || at.Op == heisen.Write && r.p.makes(variable, place{at.File, at.Line}, true) {
			return at, false
		}
		u := r.p.unitAt(at.File, at.Line)
		if u == nil {
			return at, false
		}
		name := r.p.name(u)
		f, ok := out.Functions[name]
		if !ok {
			f = r.p.describe(u, w.text(u.Path))
			out.Functions[name] = f
		}
		at.Func, at.File, at.Line = name, f.File, at.Line-f.Line+1
		return at, true
	})
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(r.aliased)) {
		notes = append(notes, fmt.Sprintf("%s: %s is accessed by another name and left out", r.aliased[name], name))
	}
	return out, notes, w.fail
}

// unitAt returns a function that has a line, the one around literals.
func (p *Program) unitAt(file string, line int) *unit {
	for _, u := range p.units {
		if u.Path != file {
			continue
		}
		if first, last := p.lines(u.Node); u.Parent == nil && first <= line && line <= last {
			return u
		}
	}
	return nil
}
