package enforce

import (
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
)

// request is a variable whose pairs are to be atomic.
type request struct {
	name  string
	pairs map[int][]heal.Pair     // by function
	whole map[int]map[int]bool    // nodes with a pair within; whether it is exclusive
	calls map[int]map[int]bool    // nodes with calls that count as accesses; whether they write
	free  map[int]map[[2]int]bool // pairs of nodes that others came between
	at    map[ends][]nodePair     // where the pairs of the profile are in the source
}

// ends has the two accesses of a pair of a profile.
type ends [2]heal.Location

// nodePair is a pair of nodes of a function.
type nodePair struct{ function, first, second int }

// request finds the pairs of a variable in the source. all has its other pairs, too.
// lost has those that the source has not.
func (p *Program) request(v, all heal.ProfiledVariable) (r *request, lost []Refusal, why *Refusal) {
	if at, ok := p.addressed[v.Name]; ok {
		return nil, nil, p.refusal(v.Name, at, "its address is taken")
	}
	r = &request{name: v.Name, pairs: map[int][]heal.Pair{}, whole: map[int]map[int]bool{}, calls: map[int]map[int]bool{}, free: map[int]map[[2]int]bool{}, at: map[ends][]nodePair{}}
	found := false
	each := func(pair heal.ProfiledPair, do func(u *unit, a, b *step)) {
		firstIn, secondIn := p.innermost(pair.First.File, pair.First.Line), p.innermost(pair.Second.File, pair.Second.Line)
		for _, u := range p.units {
			first := append(p.stepsAt(u, v.Name, pair.First), p.deferredOf(u, v.Name, firstIn)...)
			second := append(p.stepsAt(u, v.Name, pair.Second), p.deferredOf(u, v.Name, secondIn)...)
			for _, a := range first {
				for _, b := range second {
					if a != b || a.deferred == nil {
						do(u, a, b)
					}
				}
			}
		}
	}
	for _, pair := range v.Pairs {
		there := false
		each(pair, func(u *unit, a, b *step) {
			p.addPair(r, u, a, b, pair)
			at := ends{pair.First, pair.Second}
			r.at[at] = append(r.at[at], nodePair{u.Number, a.id, b.id})
			there = true
		})
		if found = found || there; !there {
			lost = append(lost, p.lost(v.Name, pair))
		}
	}
	for _, pair := range all.Pairs {
		if pair.Mode == heal.Free {
			each(pair, func(u *unit, a, b *step) {
				if r.free[u.Number] == nil {
					r.free[u.Number] = map[[2]int]bool{}
				}
				r.free[u.Number][[2]int{a.id, b.id}] = true
			})
		}
	}
	if !found {
		why := p.refusal(v.Name, token.NoPos, "%s", lost[0].Reason)
		why.File, why.Line = lost[0].File, lost[0].Line
		return nil, nil, why
	}
	return r, lost, nil
}

// keeps reports whether a lock is requested for a pair of the profile.
func (r *request) keeps(at ends) bool {
	return slices.ContainsFunc(r.at[at], func(n nodePair) bool {
		if _, whole := r.whole[n.function][n.first]; whole && n.first == n.second {
			return true
		}
		return slices.ContainsFunc(r.pairs[n.function], func(pair heal.Pair) bool { return pair.First == n.first && pair.Second == n.second })
	})
}

// lost says that a pair is not one of accesses or calls that the source shows in one function.
func (p *Program) lost(variable string, pair heal.ProfiledPair) Refusal {
	r := p.refusal(variable, token.NoPos, "the source does not show how control comes from here to %s:%d", p.relative(pair.Second.File), pair.Second.Line)
	r.File, r.Line, r.some = p.relative(pair.First.File), pair.First.Line, true
	r.Function = pair.First.Func
	return *r
}

// stepsAt returns the steps of a function that access a variable at a location, themselves or in calls.
func (p *Program) stepsAt(u *unit, variable string, at heal.Location) (out []*step) {
	if u.Path != at.File {
		return nil
	}
	for _, s := range u.flow.steps {
		if at.Op == heisen.Call && p.isInLoop(s, at.Line) && slices.ContainsFunc(s.accesses, func(a access) bool { return a.variable == variable && !a.made }) {
			out = append(out, s)
		}
		if !p.isOn(s, at.Line) {
			continue
		}
		switch at.Op {
		case heisen.Read, heisen.Write:
			if slices.ContainsFunc(s.accesses, func(a access) bool {
				return a.variable == variable && !a.made && (a.method || a.write == (at.Op == heisen.Write))
			}) {
				out = append(out, s)
			}
		default:
			if slices.ContainsFunc(s.calls, func(c *call) bool { return p.reaches(c, variable) > untouched }) || s.callsMap(variable) {
				out = append(out, s)
			}
		}
	}
	return out
}

// isOn reports whether a step is on a line.
func (p *Program) isOn(s *step, line int) bool {
	return slices.ContainsFunc(s.parts, func(n ast.Node) bool {
		first, last := p.lines(n)
		return first <= line && line <= last
	})
}

// callsMap reports whether a step calls a method of a variable that is a sync.Map.
func (s *step) callsMap(variable string) bool {
	return slices.ContainsFunc(s.accesses, func(a access) bool { return a.variable == variable && a.method && !a.made })
}

// reaching is how a function accesses a variable, itself or in calls.
type reaching uint8

const (
	untouched reaching = iota
	reads
	writes
)

// reaches says how a call accesses a variable.
func (p *Program) reaches(c *call, variable string) (r reaching) {
	all, ok := p.reach[variable]
	if !ok {
		all = p.reaching(variable)
		p.reach[variable] = all
	}
	for _, target := range c.mayCall() {
		r = max(r, all[target])
	}
	return r
}

// reaching says how each function and group accesses a variable.
func (p *Program) reaching(variable string) []reaching {
	out := make([]reaching, p.graph.Len())
	var work []int
	for i, u := range p.units {
		if write, ok := u.direct[variable]; ok {
			out[i], work = reads, append(work, i)
			if write {
				out[i] = writes
			}
		}
	}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, caller := range p.graph.Callers(at) {
			if out[at] > out[caller] {
				out[caller] = out[at]
				work = append(work, caller)
			}
		}
	}
	return out
}

// reachable removes the pairs of which the second access cannot follow the first one in one call. It reports whether
// any is left.
func (p *Program) reachable(r *request) (lies bool, err error) {
	for number := range r.pairs {
		f, _, err := p.function(p.units[number], []*request{r})
		if err != nil {
			return false, err
		}
		placed, err := heal.Place(f.Graph, f.Variables[r.name])
		if err != nil {
			return false, err
		}
		r.pairs[number] = slices.DeleteFunc(r.pairs[number], func(pair heal.Pair) bool {
			return slices.ContainsFunc(placed.Unreachable, func(u heal.Pair) bool { return u.First == pair.First && u.Second == pair.Second })
		})
		slices.SortFunc(r.pairs[number], func(a, b heal.Pair) int { // the strongest mode counts
			return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second), cmp.Compare(b.Mode, a.Mode))
		})
		r.pairs[number] = slices.CompactFunc(r.pairs[number], func(a, b heal.Pair) bool { return a.First == b.First && a.Second == b.Second })
		if len(r.pairs[number]) == 0 {
			delete(r.pairs, number)
		}
	}
	for number, calls := range r.calls { // a call is an access only as one of a pair
		maps.DeleteFunc(calls, func(node int, _ bool) bool {
			_, whole := r.whole[number][node]
			return !whole && !slices.ContainsFunc(r.pairs[number], func(pair heal.Pair) bool { return pair.First == node || pair.Second == node })
		})
		if len(calls) == 0 {
			delete(r.calls, number)
		}
	}
	return len(r.pairs)+len(r.whole) > 0, nil
}

// addPair adds a pair of two steps.
func (p *Program) addPair(r *request, u *unit, a, b *step, pair heal.ProfiledPair) {
	for _, end := range []struct {
		s  *step
		op heisen.Op
	}{{a, pair.First.Op}, {b, pair.Second.Op}} {
		if (end.op == heisen.Read || end.op == heisen.Write) && end.s.deferred == nil {
			continue
		}
		if r.calls[u.Number] == nil {
			r.calls[u.Number] = map[int]bool{}
		}
		for _, c := range end.s.calls {
			if how := p.reaches(c, r.name); how > untouched {
				r.calls[u.Number][end.s.id] = r.calls[u.Number][end.s.id] || how == writes
			}
		}
	}
	if a == b {
		inside, again := within(a, r.name, pair.First.Op, pair.Second.Op)
		if inside {
			if r.whole[u.Number] == nil {
				r.whole[u.Number] = map[int]bool{}
			}
			r.whole[u.Number][a.id] = r.whole[u.Number][a.id] || pair.Mode == heal.Exclusive
		}
		if !again {
			return
		}
	}
	r.pairs[u.Number] = append(r.pairs[u.Number], heal.Pair{First: a.id, Second: b.id, Mode: pair.Mode})
}

// within reports whether two accesses of one step may come one after the other in it, and whether they may do so in a loop.
func within(s *step, variable string, first, second heisen.Op) (inside, again bool) {
	count := map[bool]int{}
	for _, a := range s.accesses {
		if a.variable == variable && !a.made {
			count[a.write]++
		}
	}
	switch {
	case first == heisen.Read && second == heisen.Write:
		return true, false
	case first == heisen.Write && second == heisen.Read:
		inside = count[true] > 1 || count[false] > 1
	case first == second && (first == heisen.Read || first == heisen.Write):
		inside = count[first == heisen.Write] > 1
	case first == second: // calls
		inside = len(s.calls) > 1
	default: // an access and a call, such as of a function and its argument
		return true, true
	}
	return inside, !inside
}
