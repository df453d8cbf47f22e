package infer

import (
	"go/token"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/section"
)

// Analyzers returns the analyzers of the patterns in the order of precedence: load-and-store,
// test-and-use, consecutive. Their diagnostics are at the entries of sections.
func Analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{LoadAndStore, TestAndUse, Consecutive}
}

// LoadAndStore finds variables that are read and then written with a value derived from the value
// read, as x++ does (section 4.1 of the paper). A write of another goroutine in between is lost.
var LoadAndStore = newAnalyzer(&pattern{
	name:     loadAndStore,
	begins:   func(a *access) bool { return a.mode == section.Reads && a.value() != nil },
	classify: classifyStore,
}, "loadandstore", `find variables that are written with a value derived from their value

The store may be in a later statement, and the value may pass through local
variables, calls and conversions: x++, x = x + f(), s = append(s, e), m[k]++,
v := x; ...; x = v + 1, and a.Store(a.Load() + 1) of atomic variables. A
compare-and-swap or a swap checks what it overwrites and does not count.`)

func classifyStore(f *follower, fr *frame, _ state, met *access) verdict {
	if met.mode == section.Reads || !f.sameElement(fr, met) {
		return passes
	}
	if met.exact {
		return voids
	}
	for _, v := range met.stored {
		if fr.derived[v] {
			return ends
		}
	}
	return voids
}

// TestAndUse finds variables that are tested and then used in a branch that the test decides on
// (section 4.1 of the paper). A write of another goroutine in between invalidates the test.
var TestAndUse = newAnalyzer(&pattern{
	name:     testAndUse,
	begins:   func(a *access) bool { return a.mode == section.Reads && a.value() != nil },
	classify: classifyUse,
	tests:    true,
}, "testanduse", `find variables that are used in a branch that a test of them decides on

The test is the condition of an if, switch or loop, or an operand of && or ||,
that is computed from the variable. The use is the next access to the variable,
of either kind, in a branch that the outcome of the test decides on, including
the code after an early return: if p != nil { p.f() },
if _, ok := m[k]; !ok { m[k] = v }, if len(s) > i { s[i]++ }, if !done { done = true }.
The same test again, as in double-checked locking, is no use: it ensures that
the condition still holds.`)

func classifyUse(f *follower, fr *frame, at state, met *access) verdict {
	switch {
	case !f.sameElement(fr, met):
		return passes
	case met.exact, at.test != nil && f.testsAgain(fr, at.test, met):
		return voids
	case at.test != nil:
		return ends
	case met.mode == section.Writes:
		return voids
	}
	return passes
}

// testsAgain reports whether the value that an access reads is used in the same test as the one at
// the end of a block. In another function than the entry's, any test of the value counts.
func (f *follower) testsAgain(fr *frame, first *ssa.BasicBlock, met *access) bool {
	if met.mode == section.Writes || met.value() == nil {
		return false
	}
	if f.entry.ins.Parent() != fr.fn && fr.tested([]ssa.Value{met.value()}) {
		return true
	}
	return first.Parent() == fr.fn && testsSame(first, met)
}

// testsSame reports whether the value that an access reads is used in the same test as the one at
// the end of a block of its function.
func testsSame(first *ssa.BasicBlock, met *access) bool {
	cond := first.Instrs[len(first.Instrs)-1].(*ssa.If).Cond
	values := derived([]ssa.Value{met.value()}, nil)
	for _, b := range met.ins.Parent().Blocks {
		if b == first || len(b.Instrs) == 0 {
			continue
		}
		if test, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok && values[test.Cond] && sameTest(cond, test.Cond) {
			return true
		}
	}
	return false
}

// sameTest reports whether two conditions are equal or opposite.
func sameTest(a, b ssa.Value) bool {
	if not, ok := a.(*ssa.UnOp); ok && not.Op == token.NOT {
		return sameTest(not.X, b)
	}
	if not, ok := b.(*ssa.UnOp); ok && not.Op == token.NOT {
		return sameTest(a, not.X)
	}
	x, isBinary := a.(*ssa.BinOp)
	y, areBinary := b.(*ssa.BinOp)
	if !isBinary || !areBinary {
		return ssaload.SameValue(a, b)
	}
	return (x.Op == y.Op || x.Op == opposite[y.Op]) && ssaload.SameValue(x.X, y.X) && ssaload.SameValue(x.Y, y.Y)
}

var opposite = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS,
	token.GTR: token.LEQ, token.LEQ: token.GTR,
}

// Consecutive finds pairs of accesses to a variable that come one after the other (section 4.2 of
// the paper). They are candidates for access interleaving invariants. Most of them are removed when
// runs refine them.
var Consecutive = newAnalyzer(&pattern{
	name:     consecutive,
	begins:   func(a *access) bool { return !a.exact },
	classify: classifyNext,
	pairs:    true,
}, "consecutive", `find accesses to a variable that come one after the other

They may be in functions that the entry's function calls, or in its callers. In
between, others may do what leaves the interleaving serializable: write between
two writes, read otherwise.`)

func classifyNext(_ *follower, _ *frame, _ state, met *access) verdict {
	if met.exact {
		return voids
	}
	return ends
}

// The names of the patterns, as sections files and users write them.
const (
	loadAndStore = "load-and-store"
	testAndUse   = "test-and-use"
	consecutive  = "consecutive"
)

func newAnalyzer(p *pattern, name, doc string) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       name,
		Doc:        doc,
		Run:        p.run,
		Requires:   []*analysis.Analyzer{Accesses},
		ResultType: reflect.TypeFor[*result](),
	}
}
