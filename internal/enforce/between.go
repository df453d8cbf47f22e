package enforce

import (
	"go/token"
	"go/types"
	"slices"

	"github.com/heisen-go/heisen/heal"
)

// A pair of a profile is about one range of bytes: an object, or an element of a slice. Between its accesses there may be
// accesses to other objects, which in the source are accesses to the same variable and end the pairs before them. The
// lock stays held past them if what lies between each two accesses on the way is a pair, too.

// join adds these pairs to those of a variable in a function. It returns a refusal for each pair that cannot be kept atomic
// past other objects, because others came between the accesses on the way in the profile: whoever waits for others there
// must not keep them out.
func (p *Program) join(r *request, u *unit) (refused []Refusal) {
	accesses := map[int]bool{}
	objects := map[int]*types.Var{} // by step, if all its accesses are to the same memory
	for _, s := range u.flow.steps {
		if slices.ContainsFunc(s.accesses, func(a access) bool { return a.variable == r.name && !a.made }) {
			accesses[s.id] = true
			if object, whole := s.objectOf(r.name); whole {
				objects[s.id] = object
			}
		}
	}
	for at := range r.whole[u.Number] {
		accesses[at] = true
	}
	for at := range r.calls[u.Number] {
		accesses[at] = true
		delete(objects, at)
	}
	w := &ways{flow: u.flow, accesses: accesses, objects: objects, members: u.flow.membersOf(r.name), definitions: map[*types.Var]int{}}
	modes := map[[2]int]heal.Mode{}
	for _, pair := range r.pairs[u.Number] {
		key := [2]int{pair.First, pair.Second}
		modes[key] = max(modes[key], pair.Mode)
	}
	for _, pair := range slices.Clone(r.pairs[u.Number]) {
		between := w.between(pair.First, pair.Second)
		if i := slices.IndexFunc(between, func(step [2]int) bool { return r.free[u.Number][step] }); i >= 0 {
			why := p.refusal(r.name, u.flow.steps[between[i][1]].pos(), "another object is accessed here between the two, and others came before that")
			why.Function, why.some = p.name(u), true
			if !slices.Contains(refused, *why) {
				refused = append(refused, *why)
			}
			continue
		}
		for _, step := range between {
			modes[step] = max(modes[step], pair.Mode)
		}
	}
	r.pairs[u.Number] = nil
	for key, mode := range modes {
		r.pairs[u.Number] = append(r.pairs[u.Number], heal.Pair{First: key[0], Second: key[1], Mode: mode})
	}
	return refused
}

// pos returns where a step begins; token.NoPos if it has no parts.
func (s *step) pos() token.Pos {
	if len(s.parts) == 0 {
		return token.NoPos
	}
	return s.parts[0].Pos()
}

// ways finds the ways from an access to another one on which the goroutine may access no other memory of the same object,
// but other objects.
type ways struct {
	flow        *flow
	accesses    map[int]bool
	objects     map[int]*types.Var // of accesses; nil if it is not known
	members     map[int][]string   // of a group that accesses concern; nil if the variable is none
	definitions map[*types.Var]int // steps; -1 if there is none
}

// point is a step on a way. The names by which the first and the last access name their object may be defined anew on it,
// so that they stand for other objects.
type point struct {
	at    int
	first bool // the name of the first access stands for the same object as there
	last  bool // that of the last access stands for the same object as there
}

// common reports whether two steps access a variable of the group in common.
func (w *ways) common(a, b int) bool {
	return w.members == nil || slices.ContainsFunc(w.members[a], func(m string) bool { return slices.Contains(w.members[b], m) })
}

func (w *ways) definition(v *types.Var) int {
	at, ok := w.definitions[v]
	if !ok {
		at = w.flow.definition(v)
		w.definitions[v] = at
	}
	return at
}

// between returns the pairs of successive accesses on all such ways from one access to another.
func (w *ways) between(from, to int) (pairs [][2]int) {
	first, last := w.objects[from], w.objects[to]
	defFirst, defLast := w.definition(first), w.definition(last)
	// next returns the points after a point, before what they do is considered.
	next := func(q point) (out []point) {
		for _, at := range w.flow.succs[q.at] {
			n := point{at, q.first && at != defFirst, q.last}
			switch {
			case q.last && at == defLast:
				continue // it would not be the last definition
			case at == defLast:
				out = append(out, point{at, n.first, true})
			}
			out = append(out, n)
		}
		return out
	}
	ends := func(q point) bool { return q.at == to && (last == nil || q.last) }
	// passes reports whether a way goes on past a point.
	passes := func(q point) bool {
		object := w.objects[q.at]
		same := func(known bool, end int, of *types.Var) bool { return known && object == of && w.common(q.at, end) }
		return !w.accesses[q.at] || object == nil || !same(q.first, from, first) && !same(q.last, to, last)
	}
	var begin []point
	for _, q := range []point{{from, first != nil, false}, {from, first != nil, true}} {
		if !q.last || last != nil {
			begin = append(begin, q)
		}
	}
	edges, back := map[point][]point{}, map[point][]point{}
	seen := map[point]bool{}
	var work, ended []point
	push := func(q point) {
		if !seen[q] {
			seen[q] = true
			work = append(work, q)
		}
	}
	// The first access is a point of its own, which is not passed again.
	origin := map[point]point{}
	for _, q := range begin {
		start := point{-1 - from, q.first, q.last}
		origin[start] = q
		push(start)
	}
	for len(work) > 0 {
		q := work[len(work)-1]
		work = work[:len(work)-1]
		of, begins := origin[q]
		if !begins {
			of = q
			if ends(q) {
				ended = append(ended, q)
			}
			if !passes(q) {
				continue
			}
		}
		for _, n := range next(of) {
			edges[q] = append(edges[q], n)
			back[n] = append(back[n], q)
			push(n)
		}
	}
	useful := map[point]bool{}
	for work = ended; len(work) > 0; {
		q := work[len(work)-1]
		work = work[:len(work)-1]
		if !useful[q] {
			useful[q] = true
			work = append(work, back[q]...)
		}
	}
	found := map[[2]int]bool{}
	for q := range useful {
		_, begins := origin[q]
		if !begins && !w.accesses[q.at] {
			continue
		}
		at := q.at
		if begins {
			at = from
		}
		visited := map[point]bool{}
		work = slices.Clone(edges[q])
		if !begins && !passes(q) {
			work = nil
		}
		for len(work) > 0 {
			n := work[len(work)-1]
			work = work[:len(work)-1]
			if visited[n] || !useful[n] {
				continue
			}
			visited[n] = true
			if w.accesses[n.at] {
				found[[2]int{at, n.at}] = true
				continue
			}
			work = append(work, edges[n]...)
		}
	}
	for pair := range found {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return (a[0]-b[0])*len(w.flow.steps) + a[1] - b[1] })
	return pairs
}
