package vet

import (
	"fmt"
	"path/filepath"

	"golang.org/x/tools/go/analysis"

	"github.com/heisen-go/heisen/internal/infer"
)

// url leads to the documentation of the analyzers, one section each.
const url = "https://github.com/heisen-go/heisen/blob/main/docs/vet.md#"

// LostUpdate returns an analyzer that reports variables that are written with a value computed from their own
// value, where the lock that both accesses hold is released in between. With the flag atomics, it also reports an
// atomic Store of what was computed from an atomic Load.
func LostUpdate() *analysis.Analyzer {
	return newAnalyzer("lostupdate", `report updates under a lock that use a value from before the lock was released

The value of a variable is read under a lock, the lock is released, and later the
variable is written under the same lock with a value computed from the old one:

	c.mu.Lock()
	n := c.n
	c.mu.Unlock()
	...
	c.mu.Lock()
	c.n = n + 1 // what other goroutines have written to c.n is lost
	c.mu.Unlock()

The accesses may be in methods that take the lock, as in c.Set(c.Get() + 1).
Nothing is reported if the second critical section reads the variable again, or
decides by anything that it reads.`,
		"an atomic Store of a value computed from an atomic Load",
		infer.SplitUpdates,
		func(s infer.Split, read string) string {
			if s.Lock == "" {
				return fmt.Sprintf("lost update of %s: the value stored is computed from the one loaded in %s, and others may store one in between", s.Variable, read)
			}
			return fmt.Sprintf("lost update of %s: its new value is computed from the one in %s, but %s is released in between", s.Variable, read, s.Lock)
		})
}

// StaleCheck returns an analyzer that reports variables that are written because of a test of them, where the lock
// that both accesses hold is released between test and write. With the flag atomics, it also reports an atomic
// Store that a test of an atomic Load decides on.
func StaleCheck() *analysis.Analyzer {
	return newAnalyzer("stalecheck", `report writes under a lock that rest on a test from before the lock was released

The value of a variable is read under a lock and tested, the lock is released,
and later the variable is written under the same lock because of the test:

	if a.Balance() >= n { // takes a.mu and releases it
		a.mu.Lock()
		a.balance -= n // the balance may be less than n by now
		a.mu.Unlock()
	}

Nothing is reported if the second critical section decides by anything that it
reads, if both outcomes of the test lead to the write, or if the test is in a
file of tests.`,
		"an atomic Store that a test of an atomic Load decides on",
		infer.SplitTests,
		func(s infer.Split, read string) string {
			if s.Lock == "" {
				return fmt.Sprintf("stale check of %s: the test is of the value loaded in %s, and others may store one in between", s.Variable, read)
			}
			return fmt.Sprintf("stale check of %s: the test is of its value in %s, but %s is released in between", s.Variable, read, s.Lock)
		})
}

// Analyzers returns new values of all analyzers of the package, in the order of their names.
func Analyzers() []*analysis.Analyzer { return []*analysis.Analyzer{LostUpdate(), StaleCheck()} }

func newAnalyzer(name, doc, atomic string, find func(*analysis.Pass, bool) []infer.Split, message func(infer.Split, string) string) *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name:     name,
		Doc:      doc,
		URL:      url + name,
		Requires: []*analysis.Analyzer{infer.Accesses},
	}
	atomics := a.Flags.Bool("atomics", false, "also report "+atomic)
	a.Run = func(pass *analysis.Pass) (any, error) {
		for _, s := range find(pass, *atomics) {
			read, write := pass.Fset.Position(s.Read), pass.Fset.Position(s.Write)
			where := fmt.Sprintf("line %d", read.Line)
			if read.Filename != write.Filename {
				where = fmt.Sprintf("%s:%d", filepath.Base(read.Filename), read.Line)
			}
			pass.Report(analysis.Diagnostic{
				Pos: s.Write, Message: message(s, where),
				Related: []analysis.RelatedInformation{{Pos: s.Read, Message: "the value is read here"}},
			})
		}
		return nil, nil
	}
	return a
}
