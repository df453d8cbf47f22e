package cli

import (
	"go/token"
	"slices"
	"strings"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/focus"
)

// The detectors of package atomicity.
const (
	serialName    = "serial"
	blocksName    = "blocks"
	reductionName = "reduction"
)

// methodsName is the name of a kind of transactions that is not a kind of boundaries.
const methodsName = "methods"

// transactionsFlag is the value of -transactions: what the transactions of the detectors of package
// atomicity are. The zero value is auto.
type transactionsFlag struct {
	boundaries atomicity.Boundaries
	all        bool     // all calls
	exported   bool     // or else those of exported functions and methods of the main module
	named      []string // and those of these functions

	called sync.Map // those of named that were called
}

var boundaryNames = []struct {
	name       string
	boundaries atomicity.Boundaries
}{{"marked", atomicity.Marked}, {"critical", atomicity.CriticalSections}, {"calls", atomicity.Calls}}

func (f *transactionsFlag) String() string {
	var names []string
	for _, b := range boundaryNames {
		if f.boundaries&b.boundaries != 0 && (f.all || b.boundaries != atomicity.Calls) {
			names = append(names, b.name)
		}
	}
	if f.exported {
		names = append(names, methodsName)
	}
	names = append(names, f.named...)
	if names == nil {
		return "auto"
	}
	return strings.Join(names, ",")
}

func (f *transactionsFlag) Set(list string) error {
	f.boundaries, f.all, f.exported, f.named = 0, false, false, nil
	if list == "auto" {
		return nil
	}
next:
	for _, name := range strings.Split(list, ",") {
		switch {
		case name == methodsName:
			f.boundaries |= atomicity.Calls
			f.exported = true
			continue
		case strings.Contains(name, "."):
			f.boundaries |= atomicity.Calls
			f.named = append(f.named, name)
			continue
		}
		for _, b := range boundaryNames {
			if b.name == name {
				f.boundaries |= b.boundaries
				f.all = f.all || b.boundaries == atomicity.Calls
				continue next
			}
		}
		return misuse("unknown transactions %q; there are auto, marked, critical, methods, calls and names of functions, such as (*Cache).Add", name)
	}
	return nil
}

// transactionsFlag defines -transactions.
func (inv *invocation) transactionsFlag() *transactionsFlag {
	f := new(transactionsFlag)
	inv.flags.Var(f, "transactions", "serial, blocks, reduction: what must be atomic, as a comma-separated `list`: marked (what a trace marks\nas a transaction), critical (outermost critical sections), methods (calls of exported functions\nand methods of the main module), calls (all calls), functions by name such as (*Cache).Add,\nor auto: marked if a trace marks any, otherwise critical, where serial leaves out what a section\nitself lets others do, by messages or by releasing a lock")
	return f
}

// of returns the boundaries in a stream that marks transactions or does not.
func (f *transactionsFlag) of(marked bool) []atomicity.Option {
	switch {
	case f != nil && f.exported && !f.all:
		return []atomicity.Option{atomicity.WithBoundaries(f.boundaries), atomicity.WithoutFirstLevel()}
	case f != nil && f.boundaries != 0:
		return []atomicity.Option{atomicity.WithBoundaries(f.boundaries)}
	case marked:
		return []atomicity.Option{atomicity.WithBoundaries(atomicity.Marked)}
	}
	return []atomicity.Option{atomicity.WithBoundaries(atomicity.CriticalSections), atomicity.WithDataOnly()}
}

// asked reports whether serial leaves out what a transaction asks for, in a stream that marks transactions or does not.
func (f *transactionsFlag) asked(marked bool) bool {
	return !marked && (f == nil || f.boundaries == 0)
}

// calls reports whether chosen detectors need to know which functions programs call.
func (d *detection) calls() bool {
	return d.transactions != nil && d.transactions.boundaries&atomicity.Calls != 0 && slices.ContainsFunc(d.known, func(k Detector) bool {
		return k.atomic != nil && slices.Contains(d.chosen, k.Name)
	})
}

// names reports whether a function is one of those that are named: with its package, or without.
func (f *transactionsFlag) names(function string) (is bool) {
	for _, name := range f.named {
		if rest, ok := strings.CutSuffix(function, name); ok && (rest == "" || strings.HasSuffix(rest, ".") || strings.HasSuffix(rest, "/")) {
			f.called.Store(name, true)
			is = true
		}
	}
	return is
}

// notCalled returns the named functions that no program has called.
func (f *transactionsFlag) notCalled() (names []string) {
	for _, name := range f.named {
		if _, ok := f.called.Load(name); !ok {
			names = append(names, name)
		}
	}
	return names
}

// isExported reports whether a function is an exported function or method, by its name: of an unexported type, too, because
// it may implement an interface, but no literal. Functions of tests are not meant.
func isExported(name string) bool {
	_, inside := splitFunction(strings.ReplaceAll(name, "[...]", ""))
	if strings.HasPrefix(inside, "(") {
		_, inside, _ = strings.Cut(inside, ").")
	} else if typ, method, ok := strings.Cut(inside, "."); ok && token.IsIdentifier(typ) {
		inside = method
	}
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if strings.HasPrefix(inside, prefix) {
			return false
		}
	}
	return token.IsIdentifier(inside) && token.IsExported(inside)
}

// selected leaves out transactions that begin in the standard library: they are not the program's, and nobody who checks a
// program can change them.
func (d *detection) selected(symbols *heisen.Symbols) atomicity.Option {
	known, library := map[heisen.Site]bool{}, newStandardLibrary(d.standard)
	inside := func(site heisen.Site) bool {
		is, ok := known[site]
		if !ok {
			if frames := symbols.Site(site).Frames; len(frames) > 0 {
				is = library.has(packageOf(frames[0]))
			}
			known[site] = is
		}
		return is
	}
	functions := map[heisen.Object]bool{}
	called := func(function heisen.Object) bool {
		is, ok := functions[function]
		if !ok {
			name := symbols.Name(function)
			pkg, _ := splitFunction(name)
			if f := d.transactions; f.all {
				is = !library.has(pkg)
			} else if f.exported {
				is = isExported(name) && (d.module == "" || pkg == "main" || pkg == d.module || strings.HasPrefix(pkg, d.module+"/"))
			}
			is = d.transactions.names(name) || is
			functions[function] = is
		}
		return is
	}
	return atomicity.WithSelection(func(e heisen.Event) bool {
		r := heisen.AsRecord(e)
		switch {
		case r.Op == heisen.Call && d.transactions != nil:
			return called(r.Object)
		case d.standard == "":
			return true
		}
		if r.Site != 0 {
			return !inside(r.Site)
		}
		// A place is not known if it is in functions that report only what they synchronize.
		calls := symbols.Calls(r.Context)
		return len(calls) == 0 || !inside(calls[0])
	})
}

// verified says which transactions the plan of -focus proves atomic: those that begin in a function which is atomic. Such
// a function returns with the locks with which it was called, so critical sections that begin in it also end in it.
func (d *detection) verified(from origin) atomicity.Option {
	atomic := func(name string) bool {
		return d.proved.Functions[focus.FunctionOf(name, from.pkg)].Atomic
	}
	known := map[heisen.Site]bool{}
	return atomicity.WithVerified(func(e heisen.Event) bool {
		if d.proved == nil {
			return false
		}
		r := heisen.AsRecord(e)
		if r.Op == heisen.Call {
			return atomic(from.symbols.Name(r.Object))
		}
		is, ok := known[r.Site]
		if !ok {
			for _, frame := range from.symbols.Site(r.Site).Frames {
				is = is || atomic(frame.Func)
			}
			known[r.Site] = is
		}
		return is
	})
}
