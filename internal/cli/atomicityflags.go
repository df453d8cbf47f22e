package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/trace"
)

// The detectors of package atomicity.
const (
	serialName    = "serial"
	blocksName    = "blocks"
	reductionName = "reduction"
)

// transactionsFlag is the value of -transactions: what the transactions of the detectors of package
// atomicity are. The zero value is auto.
type transactionsFlag struct{ boundaries atomicity.Boundaries }

var boundaryNames = []struct {
	name       string
	boundaries atomicity.Boundaries
}{{"marked", atomicity.Marked}, {"critical", atomicity.CriticalSections}, {"calls", atomicity.Calls}}

func (f *transactionsFlag) String() string {
	var names []string
	for _, b := range boundaryNames {
		if f.boundaries&b.boundaries != 0 {
			names = append(names, b.name)
		}
	}
	if names == nil {
		return "auto"
	}
	return strings.Join(names, ",")
}

func (f *transactionsFlag) Set(list string) error {
	f.boundaries = 0
	if list == "auto" {
		return nil
	}
next:
	for _, name := range strings.Split(list, ",") {
		for _, b := range boundaryNames {
			if b.name == name {
				f.boundaries |= b.boundaries
				continue next
			}
		}
		return misuse("unknown transactions %q; there are auto, marked, critical, calls", name)
	}
	return nil
}

// transactionsFlag defines -transactions.
func (inv *invocation) transactionsFlag() *transactionsFlag {
	f := new(transactionsFlag)
	inv.flags.Var(f, "transactions", "serial, blocks, reduction: what must be atomic, as a comma-separated `list`: marked (what a trace marks\nas a transaction), critical (outermost critical sections), calls (function calls in a\ntrace) or auto: marked if a trace marks any, otherwise critical")
	return f
}

// of returns the boundaries in a stream that marks transactions or does not.
func (f *transactionsFlag) of(marked bool) atomicity.Option {
	switch {
	case f != nil && f.boundaries != 0:
		return atomicity.WithBoundaries(f.boundaries)
	case marked:
		return atomicity.WithBoundaries(atomicity.Marked)
	}
	return atomicity.WithBoundaries(atomicity.CriticalSections)
}

// selected leaves out transactions that begin in the standard library: they are not the program's, and nobody who checks a
// program can change them.
func (d *detection) selected(symbols *heisen.Symbols) atomicity.Option {
	known, packages := map[heisen.Site]bool{}, map[string]bool{}
	standard := func(pkg string) bool {
		is, ok := packages[pkg]
		if !ok {
			info, err := os.Stat(filepath.Join(d.standard, filepath.FromSlash(pkg)))
			is = err == nil && info.IsDir()
			packages[pkg] = is
		}
		return is
	}
	inside := func(site heisen.Site) bool {
		is, ok := known[site]
		if !ok {
			if frames := symbols.Site(site).Frames; len(frames) > 0 {
				pkg, _ := splitFunction(frames[0].Func)
				is = standard(pkg)
			}
			known[site] = is
		}
		return is
	}
	return atomicity.WithSelection(func(e heisen.Event) bool {
		if d.standard == "" {
			return true
		}
		r := heisen.AsRecord(e)
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
	known := map[heisen.Site]bool{}
	return atomicity.WithVerified(func(e heisen.Event) bool {
		if d.proved == nil {
			return false
		}
		r := heisen.AsRecord(e)
		is, ok := known[r.Site]
		if !ok {
			for _, frame := range from.symbols.Site(r.Site).Frames {
				name := frame.Func
				if inMain, ok := strings.CutPrefix(name, "main."); ok { // as every program calls its main package
					name = focus.Variable{Package: from.pkg, Name: inMain}.String()
				}
				is = is || d.proved.Functions[focus.Function(name)].Atomic
			}
			known[r.Site] = is
		}
		return is
	})
}

// hasMarks reports whether a trace marks transactions. An input that can be read only once is an
// error: it needs -transactions.
func (inv *invocation) hasMarks(ctx context.Context, file string) (bool, error) {
	if info, err := os.Stat(file); file == stdStream || err == nil && !info.Mode().IsRegular() {
		return false, misuse("the detectors %s, %s and %s need -transactions for an input that can be read only once", serialName, blocksName, reductionName)
	}
	marks := &opSearch{op: heisen.Enter}
	err := inv.withTrace(file, func(r *trace.Reader) error {
		_, err := heisen.Run(ctx, untilOp{r, marks}, newThreadEnds(r.Symbols(), heisen.Limits{EndedThreads: 1}))
		return err
	})
	_ = err // the analysis reports it
	return marks.found, nil
}
