package infer

import (
	"cmp"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/section"
)

// Split is a read and a write of a variable that belong together, although a lock that is held at both is
// released in between, or although they are two atomic operations.
type Split struct {
	Variable string    // the variable at the write, as in the source
	Read     token.Pos // what the write depends on
	Write    token.Pos
	Lock     string // the fields by which the lock is reached; empty if the accesses are atomic operations
}

// SplitUpdates finds variables that are written with a value derived from their value, as by LoadAndStore,
// in two critical sections of one lock. Atomic operations count as critical sections if atomics is true.
//
// Unlike sections, which runs refine, splits are meant for people, so the analysis errs on the side of
// silence. A pair is left out if any lock is held from the read to the write, or if the second critical
// section looks at the variable again, or tests anything that it has read itself.
func SplitUpdates(pass *analysis.Pass, atomics bool) []Split {
	return splits(pass, atomics, &pattern{
		split:    true,
		rules:    rules{data: true},
		begins:   func(a *access) bool { return a.mode == section.Reads && a.value() != nil },
		classify: classifySplitUpdate,
	})
}

// SplitTests finds variables that are written in a branch that a test of them decides on, where the test is
// of a value from an earlier critical section of the same lock. It errs as SplitUpdates does, and leaves out
// writes that both outcomes of the test can lead to, and removals of map elements.
func SplitTests(pass *analysis.Pass, atomics bool) []Split {
	return splits(pass, atomics, &pattern{
		split:    true,
		tests:    true,
		rules:    rules{surface: true},
		begins:   func(a *access) bool { return a.mode == section.Reads && a.value() != nil },
		classify: classifySplitTest,
	})
}

func classifySplitUpdate(f *follower, fr *frame, at state, met *access) verdict {
	if met.mode == section.Reads {
		return passes
	}
	return classifyStore(f, fr, at, met)
}

func classifySplitTest(f *follower, fr *frame, at state, met *access) verdict {
	switch {
	case met.mode == section.Reads || !f.sameElement(fr, met):
		return passes
	case met.exact || at.test == nil || len(met.stored) == 0 || !decides(at.test, fr, met) || f.p.inTests(at.test.Parent()):
		return voids
	}
	return ends
}

// inTests reports whether a function stands in a file of tests. Tests assert what nobody else changes.
func (p *program) inTests(fn *ssa.Function) bool {
	return strings.HasSuffix(p.pass.Fset.Position(fn.Pos()).Filename, "_test.go")
}

// decides reports whether only one outcome of a test leads to an access in a frame.
func decides(test *ssa.BasicBlock, fr *frame, met *access) bool {
	var at ssa.Instruction = met.ins
	for ; fr.fn != test.Parent(); fr = fr.outer {
		if fr.outer == nil {
			return false
		}
		at = fr.call
	}
	ways := 0
	for _, succ := range test.Succs {
		if succ == at.Block() || ssaload.LeadsTo(succ.Instrs[0], at, test) {
			ways++
		}
	}
	return ways == 1
}

// splits returns the splits of a package by one pattern, in the order of the source.
func splits(pass *analysis.Pass, atomics bool, pattern *pattern) (out []Split) {
	p := pass.ResultOf[Accesses].(*program)
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[token.Pos]bool{}
	for _, fn := range p.funcs {
		if isInit(fn) {
			continue
		}
		for _, a := range p.byFn[fn] {
			if !pattern.begins(a) || p.writes.final(a.path) || !p.shared.shared(a.path, nil) {
				continue
			}
			guards := p.guards(a, a.path)
			if a.isAtomic() && !atomics || len(guards) == 0 && !a.isAtomic() || !ssaload.IsSource(pass.Fset.Position(a.at).Filename) {
				continue
			}
			f := &follower{p: p, pattern: pattern, entry: a, guards: guards, top: fn, steps: maxSteps}
			f.walk()
			for _, m := range f.met {
				if m.stale && !seen[m.at] && p.shared.shared(m.path, m.ins) {
					seen[m.at] = true
					out = append(out, Split{Variable: m.name, Read: a.at, Write: m.at, Lock: m.lock})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Split) int { return cmp.Compare(a.Write, b.Write) })
	return out
}

// guard is a lock as it is reached from a variable: up steps back from the end of the variable's path, and
// then the steps down. A package-level lock has a root instead of up.
type guard struct {
	hold
	root *ssa.Global
	up   int
	down []ssaload.Step
}

func (g guard) equal(h guard) bool {
	return g.root == h.root && g.up == h.up && slices.EqualFunc(g.down, h.down, ssaload.Step.Same)
}

// name returns the fields by which the lock is reached.
func (g guard) name() string {
	var fields []string
	if g.root != nil {
		fields = append(fields, g.root.Name())
	}
	for _, step := range g.down {
		if step.Kind == ssaload.FieldStep {
			fields = append(fields, step.Field.Name())
		}
	}
	if len(fields) == 0 {
		return "the lock"
	}
	return strings.Join(fields, ".")
}

// guards returns the locks under which an access is made, as they are reached from a variable.
func (p *program) guards(a *access, variable ssaload.Path) []guard {
	return p.guardsAt(a.ins, a.mode == section.Writes, variable)
}

// guardsAt returns the locks that are held at an instruction, as they are reached from a variable; if exclusive
// is set, those that are not held for reading only.
func (p *program) guardsAt(at ssa.Instruction, exclusive bool, variable ssaload.Path) (out []guard) {
	for _, h := range p.locks.at(at) {
		if h.shared && exclusive {
			continue
		}
		g := guard{hold: h}
		if h.lock.Root == variable.Root {
			common := 0
			for common < min(len(h.lock.Steps), len(variable.Steps)) && h.lock.Steps[common].Same(variable.Steps[common]) {
				common++
			}
			g.up, g.down = len(variable.Steps)-common, h.lock.Steps[common:]
		} else if root, ok := h.lock.Root.(*ssa.Global); ok {
			g.root, g.down = root, h.lock.Steps
		} else {
			continue
		}
		if (ssaload.Path{Root: h.lock.Root, Steps: g.down}).Movable() {
			out = append(out, g)
		}
	}
	return out
}

// isAtomic reports whether an access is an operation of sync/atomic or sync.Map.
func (a *access) isAtomic() bool {
	call, ok := a.ins.(*ssa.Call)
	if !ok {
		return false
	}
	_, builtin := call.Call.Value.(*ssa.Builtin)
	return !builtin
}

// stale reports whether a write holds a lock that the entry holds, which was released in between, or whether
// both are atomic. It returns false if the second critical section looks at what has changed.
func (f *follower) stale(fr *frame, st state, write *access) (lock string, ok bool) {
	if f.entry.isAtomic() || write.isAtomic() {
		return "", f.entry.isAtomic() && write.isAtomic()
	}
	for _, g := range f.p.guards(write, fr.path) {
		if slices.ContainsFunc(f.guards, g.equal) {
			return g.name(), !f.looksAgain(fr, st.test, write.ins, g)
		}
	}
	return "", false
}

// looksAgain reports whether the critical section in which control is at an instruction has read the variable
// again, if the pattern is about its value, or decides by something that it has read. Callers of the function
// count if they hold the lock.
func (f *follower) looksAgain(fr *frame, first *ssa.BasicBlock, at ssa.Instruction, g guard) bool {
	for _, a := range f.p.byFn[fr.fn] {
		if a.mode != section.Reads || a == f.entry || !ssaload.LeadsTo(a.ins, at, nil) ||
			!slices.ContainsFunc(f.p.locks.at(a.ins), func(h hold) bool { return h.by == g.by }) {
			continue
		}
		if !f.pattern.tests && fr.path.Equal(a.path) && f.sameElement(fr, a) {
			return true
		}
		if a.value() == nil {
			continue
		}
		values := derived([]ssa.Value{a.value()}, nil)
		for b := at.Block().Idom(); b != nil; b = b.Idom() {
			if test, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok && b != first && values[test.Cond] {
				return true
			}
		}
	}
	if g.by.Block() != fr.fn.Blocks[0] || g.by != fr.fn.Blocks[0].Instrs[0] || fr.outer == nil {
		return false
	}
	for _, outer := range f.p.guardsAt(fr.call, false, fr.outer.path) {
		if g.equal(outer) {
			return f.looksAgain(fr.outer, first, fr.call, outer)
		}
	}
	return false
}
