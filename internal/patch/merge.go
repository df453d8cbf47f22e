package patch

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// merge makes one region of regions that touch, and of a read and a write between which nothing waits, since the
// written value may depend on the read one. Regions inside of others vanish.
func (r *repair) merge(fn *static.Function, regions []*region, spans []span) ([]*region, *refusal) {
	for _, s := range spans {
		if why := r.join(&regions, s); why != nil {
			return nil, why
		}
	}
	slices.SortStableFunc(regions, func(a, b *region) int {
		if a.start() != b.start() {
			return int(a.start() - b.start())
		}
		return int(b.end() - a.end())
	})
	var out []*region
	for _, next := range regions {
		if len(out) == 0 {
			out = append(out, next)
			continue
		}
		last := out[len(out)-1]
		switch {
		case last.start() <= next.start() && next.end() <= last.end() && last.lock == next.lock && (last.form != ahead || next.form == ahead && last.end() == next.end()):
		case last.lock == next.lock && &last.list[0] == &next.list[0] && last.form == around && next.form != ahead &&
			len(last.early)+len(next.early) == 0 && r.joins(last, next):
			last.last, last.form = next.last, next.form
		case next.start() < last.end() && last.lock != next.lock:
			return nil, refuse(next.uses[0].expr, "%s and %s would be held at a time, in an order that others may reverse: a deadlock", last.lock, next.lock)
		default:
			out = append(out, next)
			continue
		}
		last.uses = append(last.uses, next.uses...)
		last.exclusive = last.exclusive || next.exclusive
	}
	return r.readBack(out), nil
}

// readBack makes regions that read back what others ahead of them write the ends of these.
func (r *repair) readBack(regions []*region) (out []*region) {
	for _, next := range regions {
		if n := len(out); n > 0 && r.readsBack(out[n-1], next) {
			out[n-1].last, out[n-1].then = next.first-1, next
		} else {
			out = append(out, next)
		}
	}
	return out
}

func (g *region) start() token.Pos { return g.list[g.first].Pos() }
func (g *region) end() token.Pos   { return g.list[g.last].End() }

// maxGap bounds the statements between a read and a write that are put into one critical section.
const maxGap = 3

// joins reports whether two regions in one list are to be one.
func (r *repair) joins(a, b *region) bool {
	if b.first <= a.last+1 {
		return true
	}
	if b.first-a.last-1 > maxGap || !slices.ContainsFunc(b.uses, func(u *use) bool { return u.write }) {
		return false
	}
	return r.passes(a, b)
}

// passes reports whether control goes from a region to another one in its list for certain, and without waiting.
func (r *repair) passes(a, b *region) bool {
	return !slices.ContainsFunc(a.list[a.last+1:b.first], func(s ast.Stmt) bool { return r.waitsIn(a.fn, s) != nil || leaves(s) != nil })
}

// readsBack reports whether a region that reads ahead of a statement is to become the end of another one, which writes the same: what is
// read there is what has been written.
func (r *repair) readsBack(a, b *region) bool {
	if a.form != around || a.then != nil || b.form != ahead || b.init != nil || len(a.early)+len(b.early) > 0 ||
		a.lock != b.lock || !sameList(a.list, b.list) || b.first <= a.last || b.first-a.last-1 > maxGap {
		return false
	}
	return r.passes(a, b) && slices.ContainsFunc(a.uses, func(w *use) bool {
		return w.write && slices.ContainsFunc(b.uses, func(u *use) bool { return r.texts.of(u.expr) == r.texts.of(w.expr) })
	})
}

// apart separates the reads at the ends of regions that cannot be written so: something in them may panic, or control leaves them.
func (r *repair) apart(regions []*region) (out []*region) {
	for _, g := range regions {
		out = append(out, g)
		if g.then != nil && (r.panics(g) != nil || g.leaves() != nil || r.finishAhead(g.then) != nil || r.check(g) != nil) {
			out = append(out, g.then)
			g.then = nil
		}
	}
	return out
}

// join makes one region of those that a span touches. It has all their statements.
func (r *repair) join(regions *[]*region, s span) *refusal {
	var inside []*region
	for grew := true; grew; { // by a region, which others may touch
		grew = false
		for _, g := range *regions {
			if g.start() <= s.last && s.first < g.end() && !slices.Contains(inside, g) {
				inside = append(inside, g)
				s.first, s.last = min(s.first, g.start()), max(s.last, g.end()-1)
				grew = true
			}
		}
	}
	if len(inside) == 0 {
		return nil
	}
	list, first, last := r.common(s)
	if list == nil {
		return &refusal{s.first, "the check and the act have no statement list in common"}
	}
	one := &region{fn: s.fn, list: list, first: first, last: last, lock: inside[0].lock, exclusive: true}
	for _, stmt := range list[first : last+1] {
		if w := r.waitsIn(s.fn, stmt); w != nil {
			return refuse(w.At, "line %d decides what line %d does, and between them the lock would be held over %s",
				r.p.position(s.first).Line, r.p.position(s.last).Line, w.What)
		}
	}
	for _, g := range inside {
		if g.lock != one.lock {
			return &refusal{s.first, "the check and the act are about different objects"}
		}
		one.uses = append(one.uses, g.uses...)
	}
	*regions = append(slices.DeleteFunc(*regions, func(g *region) bool { return slices.Contains(inside, g) }), one)
	return nil
}

// common returns the innermost list of statements that has both ends of a span, and the indices of their statements.
func (r *repair) common(s span) (list []ast.Stmt, first, last int) {
	static.Own(s.fn.Body, func(n ast.Node) {
		stmts := statements(n)
		i := slices.IndexFunc(stmts, func(s1 ast.Stmt) bool { return s1.Pos() <= s.first && s.first < s1.End() })
		j := slices.IndexFunc(stmts, func(s1 ast.Stmt) bool { return s1.Pos() <= s.last && s.last < s1.End() })
		if i >= 0 && j >= i {
			list, first, last = stmts, i, j
		}
	})
	return list, first, last
}

// maxStatements bounds the functions that hold a lock to their end.
const maxStatements = 12

// wholeFunction returns the region from the first use to the end of the function, if that is plainer than the given
// regions: because they cannot be written, or are not plain statements, or are the whole function. It returns nil
// if the function is not small or waits for something.
func (r *repair) wholeFunction(fn *static.Function, uses []*use, regions []*region, must bool) *region {
	var one *region
	for _, u := range uses {
		i := slices.IndexFunc(fn.Body.List, func(s ast.Stmt) bool { return within(s, u.expr) })
		if i < 0 {
			return nil
		}
		lock := r.g.expression(r.p, u, r.texts.of)
		if one == nil {
			one = &region{fn: fn, list: fn.Body.List, first: i, last: len(fn.Body.List) - 1, form: deferred, lock: lock}
		}
		one.first = min(one.first, i)
		one.uses = append(one.uses, u)
		one.exclusive = one.exclusive || u.write || !r.g.rw
		if lock != one.lock {
			return nil
		}
	}
	plain := !must
	for _, g := range regions {
		whole := g.form == around && &g.list[0] == &fn.Body.List[0] && g.last-g.first+1 == len(g.list)
		single := g.form == deferred && len(regions) == 1
		plain = plain && (g.form == around || single) && !whole
	}
	if plain {
		return nil
	}
	size := 0
	static.Own(fn.Body, func(n ast.Node) {
		if _, ok := n.(ast.Stmt); ok {
			size++
		}
	})
	if size > maxStatements {
		return nil
	}
	for _, s := range one.list[one.first:] {
		if r.waitsIn(fn, s) != nil || hasLabels(s) {
			return nil
		}
		if _, ok := s.(*ast.GoStmt); ok && !must {
			return nil
		}
	}
	if r.check(one) != nil {
		return nil
	}
	return one
}
