package infer

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/section"
)

// pattern is a reason why accesses to a variable belong together.
type pattern struct {
	name string

	// begins reports whether an access can be the entry of a section.
	begins func(*access) bool

	// classify decides what an access to the variable means on a path from the entry.
	classify func(f *follower, fr *frame, at state, met *access) verdict

	tests bool // sections end in branches of tests of the value read
	pairs bool // any two accesses make a section, whatever is done with the value
	split bool // both accesses are synchronized, each for itself
	rules rules
}

type verdict uint8

const (
	passes verdict = iota // the access is no end of the section
	ends                  // the access is an end
	voids                 // the access is no end, and accesses after it are none either
)

// found is a section that the analysis has found, with accesses for locations.
type found struct {
	pattern string
	entry   *access
	ends    []foundEnd
	above   int
	locked  bool // a lock is held from the entry to all ends
}

type foundEnd struct {
	*access
	allow section.Modes
	in    []*ssa.Function // the access must be made in a call of one of these; nil: in any
}

// sections returns the sections of a pattern in the order of the source. gaveUp are the entries
// with too many paths to follow.
func (p *program) sections(pattern *pattern) (out []found, gaveUp []*access) {
	for _, fn := range p.funcs {
		if isInit(fn) {
			continue
		}
		for _, a := range p.byFn[fn] {
			if !pattern.begins(a) || p.writes.final(a.path) || !p.shared.shared(a.path, nil) {
				continue
			}
			f := &follower{p: p, pattern: pattern, entry: a, top: fn, steps: maxSteps}
			section, ok := f.section()
			if f.steps < 0 {
				gaveUp = append(gaveUp, a)
			} else if ok && p.sharedBefore(section.ends) {
				out = append(out, section)
			}
		}
	}
	return out, gaveUp
}

// sharedBefore reports whether other goroutines may reach the variable before one of the ends, even
// if they cannot reach it at the entry.
func (p *program) sharedBefore(ends []foundEnd) bool {
	return slices.ContainsFunc(ends, func(e foundEnd) bool { return p.shared.shared(e.path, e.ins) })
}

// Bounds on how far one entry is followed.
const (
	maxSteps = 100_000 // blocks and calls
	maxDepth = 3       // calls into
	maxAbove = 2       // calls above
)

// follower follows control from the entry of a section to the accesses that may come after it.
type follower struct {
	p       *program
	pattern *pattern
	entry   *access
	level   int           // calls above the entry's function
	top     *ssa.Function // the caller at this level; at level 0 the entry's function
	unknown bool          // callers that are not known may exist
	steps   int           // remaining budget of blocks and calls
	holds   []hold        // locks held at the entry or in callers; the bits of state.holds are indexes
	met     []meeting
	guards  []guard // of the entry, if the pattern is about split accesses
}

// meeting is an access to the variable on a path from the entry.
type meeting struct {
	*access
	end   bool
	above int
	top   *ssa.Function // the function above calls above the entry's
	safe  bool          // a lock has been held all the way
	lock  string        // that the access holds as the entry does, if it is a split one
	stale bool          // it is the end of a split pair
}

// frame is a function on the path.
type frame struct {
	fn      *ssa.Function
	path    ssaload.Path       // by which it reaches the variable
	derived map[ssa.Value]bool // computed from what the entry read
	key     ssa.Value          // of the map element that the entry reads; nil if the frame has no value for it
	start   *ssa.BasicBlock    // the block where control begins; nil if the function is called
	depth   int
	outer   *frame
	call    *ssa.Call // by which outer calls the function
	rules   rules
}

// state is what the analysis knows about a point on the path.
type state struct {
	test  *ssa.BasicBlock // the test in whose branch control is, or nil
	void  bool            // the section is over, although the detector does not see it
	holds uint64          // a bit for each of follower.holds that was not released since the entry
}

// hold adds those of the held locks that protect a variable to f.holds and returns their bits.
func (f *follower) hold(held []hold, variable ssaload.Path) (set uint64) {
	for _, h := range held {
		if len(f.holds) < 64 && (f.pattern.split || h.protects(variable)) {
			set |= 1 << len(f.holds)
			f.holds = append(f.holds, h)
		}
	}
	return set
}

// safe reports whether one of the locks prevents violations of the section. A lock that is held for
// reading only keeps out writers, so the section must not write.
func (f *follower) safe(set uint64, end *access) bool {
	for i, h := range f.holds {
		if set&(1<<i) != 0 && (f.pattern.split || !h.shared || f.entry.mode == section.Reads && end.mode == section.Reads) {
			return true
		}
	}
	return false
}

// returnFrom follows control from the returns of a frame's function into its callers. A caller that
// is not known could reach an end without, for example, the test that makes it an end. The section
// then has to say in which functions it ends.
func (f *follower) returnFrom(fr *frame, exits []state) {
	if f.level == maxAbove || len(exits) == 0 {
		return
	}
	f.level++
	holds, top := f.holds, f.top
	for _, call := range f.p.calls[fr.fn] {
		p, ok := fr.path.Back(&call.Call, fr.fn)
		seeds := fr.returned(call)
		if !ok || len(seeds) == 0 && !f.pattern.pairs {
			continue
		}
		f.unknown = f.unknown || !f.p.callersKnown(fr.fn)
		f.holds, f.top = nil, call.Parent()
		held := f.hold(f.p.locks.at(call), p)
		caller := &frame{
			fn: call.Parent(), path: p, key: outward(fr.key, &call.Call, fr.fn),
			start: call.Block(), derived: f.derived(seeds, call.Block()), rules: fr.rules,
		}
		next := slices.Index(call.Block().Instrs, ssa.Instruction(call)) + 1
		var out []state
		for _, void := range []bool{false, true} {
			if slices.ContainsFunc(exits, func(st state) bool { return st.void == void }) {
				out = append(out, f.follow(caller, call.Block(), next, state{void: void, holds: held})...)
			}
		}
		f.returnFrom(caller, out)
	}
	f.holds, f.top = holds, top
	f.level--
}

// follow follows control from an instruction of a block to the returns of the frame's function. It
// returns the states at these returns.
func (f *follower) follow(fr *frame, from *ssa.BasicBlock, next int, st state) (exits []state) {
	type point struct {
		block *ssa.BasicBlock
		next  int
		test  *ssa.BasicBlock
		void  bool
	}
	type item struct {
		point
		holds uint64
	}
	seen := map[point]uint64{}
	var work []item
	reach := func(block *ssa.BasicBlock, next int, st state) {
		pt := point{block, next, st.test, st.void}
		if old, ok := seen[pt]; ok {
			if st.holds &= old; st.holds == old {
				return
			}
		}
		seen[pt] = st.holds
		work = append(work, item{pt, st.holds})
	}
	reach(from, next, st)
	leave := map[state]bool{}
	for len(work) > 0 && f.steps >= 0 {
		it := work[len(work)-1]
		work = work[:len(work)-1]
		f.steps--
		st := state{it.test, it.void, it.holds}
		rest := it.block.Instrs[it.next:]
		over := false
		for i, ins := range rest {
			var after []state
			if st, after, over = f.instruction(fr, ins, st); over {
				break
			}
			if after != nil { // paths through a call
				for _, st := range after {
					reach(it.block, it.next+i+1, st)
				}
				over = true
				break
			}
			if _, ok := ins.(*ssa.Return); ok && !leave[st] {
				leave[st] = true
				exits = append(exits, st)
			}
		}
		if over {
			continue
		}
		for _, succ := range it.block.Succs {
			reach(succ, 0, f.enter(fr, it.block, succ, st))
		}
	}
	return exits
}

// enter returns the state after control goes from one block to the next.
func (f *follower) enter(fr *frame, from, to *ssa.BasicBlock, st state) state {
	if f.pattern.tests {
		if test, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If); ok && st.test == nil && fr.derived[test.Cond] {
			st.test = from
		}
		if st.test != nil && st.test.Parent() == fr.fn && !f.p.graph(fr.fn).inBranch(st.test, to) {
			st.test = nil
		}
	}
	if !f.pattern.pairs && fr.start != nil && to.Dominates(fr.start) {
		st.void = true // another iteration of a loop around the entry
	}
	return st
}

// instruction processes an instruction. If over is set, the path need not be followed any more. If
// a call was followed, after has the states at its return.
func (f *follower) instruction(fr *frame, ins ssa.Instruction, st state) (_ state, after []state, over bool) {
	if v, ok := ins.(ssa.Value); ok && fr.path.DependsOn(v) {
		return st, nil, true // from here on the path leads to another variable
	}
	if a := f.p.byIns[ins]; a != nil {
		switch {
		case ins == f.entry.ins && fr.path.Equal(a.path):
			f.met = append(f.met, meeting{access: a, end: f.pattern.pairs && !st.void, above: f.level, top: f.top, safe: f.safe(st.holds, a)})
			return st, nil, true
		case fr.path.Equal(a.path):
			verdict := passes
			if !st.void {
				verdict = f.pattern.classify(f, fr, st, a)
			}
			m := meeting{access: a, end: verdict == ends, above: f.level, top: f.top, safe: f.safe(st.holds, a)}
			if f.pattern.split && m.end && !m.safe {
				m.lock, m.stale = f.stale(fr, st, a)
			}
			f.met = append(f.met, m)
			if verdict == ends {
				return st, nil, true
			}
			st.void = st.void || verdict == voids
		case a.mode == section.Writes && fr.path.Through(a.path):
			return st, nil, true
		}
	}
	call, ok := ins.(*ssa.Call)
	if !ok {
		return st, nil, false
	}
	st.holds = f.release(call, st.holds)
	callee := f.p.body(&call.Call)
	if callee == nil || fr.depth == maxDepth || fr.calls(callee) || !f.p.touches(callee, fr.path) {
		return st, nil, false
	}
	p, ok := fr.path.Translate(&call.Call, callee)
	if !ok {
		return st, nil, false
	}
	inner := &frame{fn: callee, path: p, key: inward(fr.key, &call.Call, callee), depth: fr.depth + 1, outer: fr, call: call, rules: fr.rules}
	var seeds []ssa.Value
	for i, arg := range ssaload.Arguments(&call.Call) {
		if fr.derived[arg] && i < len(callee.Params) {
			seeds = append(seeds, callee.Params[i])
		}
	}
	inner.derived = f.derived(seeds, nil)
	for _, out := range f.follow(inner, callee.Blocks[0], 0, st) {
		if out.test != nil && out.test.Parent() == callee {
			out.test = nil
		}
		after = append(after, out)
	}
	return st, after, len(after) == 0
}

// calls reports whether fn is the function of the frame or of an outer frame.
func (fr *frame) calls(fn *ssa.Function) bool {
	for ; fr != nil; fr = fr.outer {
		if fr.fn == fn {
			return true
		}
	}
	return false
}

// release returns the locks that are still held after a call.
func (f *follower) release(call *ssa.Call, set uint64) uint64 {
	for i, h := range f.holds {
		if set&(1<<i) != 0 && len(f.p.locks.step([]hold{h}, call)) == 0 {
			set &^= 1 << i
		}
	}
	return set
}

// message returns the text of a diagnostic.
func (p *program) message(s found) string {
	var at []string
	for _, end := range s.ends {
		pos := p.pass.Fset.Position(end.at)
		at = append(at, fmt.Sprintf("%s:%d", filepath.Base(pos.Filename), pos.Line))
	}
	return fmt.Sprintf("%s of %s, ends at %s", s.pattern, s.entry.name, strings.Join(slices.Compact(at), ", "))
}

// run is the Run function of a pattern's analyzer.
func (pattern *pattern) run(pass *analysis.Pass) (any, error) {
	p := pass.ResultOf[Accesses].(*program)
	p.mu.Lock()
	defer p.mu.Unlock()
	out, gaveUp := p.sections(pattern)
	for _, s := range out {
		if !s.locked {
			pass.Report(analysis.Diagnostic{Pos: s.entry.at, Category: pattern.name, Message: p.message(s)})
		}
	}
	return &result{fset: pass.Fset, found: out, gaveUp: gaveUp}, nil
}

// result is what a pattern's analyzer has found, including locked sections.
type result struct {
	fset   *token.FileSet
	found  []found
	gaveUp []*access // entries with too many paths to follow
}
