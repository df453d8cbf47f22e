package mcm

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// moves is a state of a model and the steps that are possible there: where each
// thread is, what each cell holds, who holds which locks. Two things keep the states
// few that a search has to look at:
//
//   - A step that hinders nobody is taken at once: a read of what it may see, a
//     release, a whole critical section of such steps. If there is an answer from
//     here without the step, there is one with it. What is left to choose is who
//     takes a lock and who writes. (A write of the value that is there may be of use
//     later, when it is not there any more, and is taken at once only by a bold
//     search, which does not look everywhere.)
//   - Writes of the same value are the same to those that read, so that states which
//     differ in who wrote are one.
type moves struct {
	m *causal

	class  []int32      // by touch: writes of the same class are the same to reads of the cell
	start  []int32      // by cell: the class of what was there before the window
	want   []int32      // by read: the class that it may see
	enters []order.Node // by node: where its thread took the first of the locks that it holds before it, or none
	leaves []order.Node // by node: where it gives the last of them back, the last node if it does not
	acts   []act        // by node
	finds  []content    // of critical sections that can hinder nobody: what they find in memory, and leave there
	needs  []uint64     // by node: of what a change may let its thread go on from before it at once, as bits; nil before askers
	gives  []uint64     // by node: what it changes, likewise
	exact  bool         // states say all that matters, so that no answer among all of them is an answer

	threads, cells, locks, size int // of states

	rows []int32    // what comes before what, and which nodes come after the goal
	hold order.Node // where its thread is held back, or none
	stop order.Node // and another one, likewise
	bold bool       // a write of the value that is there is taken at once

	now  []int32      // the state at hand
	path []order.Node // what led to it from its parent

	interrupted func() bool // whether a search is to end, as if its budget was spent
}

// interruptEvery is how many states, a power of two, a search looks at before it asks whether it
// is to end.
const interruptEvery = 1 << 10

// act is what a node needs, and what it does.
type act struct {
	thread  int32
	cell    int32    // that it touches, none or several
	wants   int32    // the class that it may see there, if it is one cell; noCell if it reads none
	leaves  int32    // the class that it leaves there, if it is one cell, or noCell
	takes   int32    // where in a state is by how many the lock is held exclusively, and next to it shared, that it takes; 0 if it takes none
	returns int32    // where the count is of the lock that it gives back, or 0
	shared  bool     // it takes the lock shared
	writes  bool     // it writes the cell, or one of several
	message bool     // it sends or receives
	asks    bool     // more has to come before it than before the one before it, or may have to
	mover   bool     // it hinders nobody whenever it comes, unless it takes a lock
	passes  bool     // it takes a lock, and it and what follows until its thread has given it back can hinder nobody, all in one go
	reads   bool     // and are movers
	finds   [2]int32 // between which places of finds is what it finds, if it passes
}

const (
	noCell    = -1
	manyCells = -2
)

func newMoves(m *causal, interrupted func() bool) *moves {
	x := &moves{
		m: m, class: make([]int32, len(m.touches)), start: make([]int32, len(m.cells)), want: make([]int32, len(m.reads)),
		threads: len(m.base) - 2, cells: len(m.cells), locks: len(m.locks),
		exact: m.flow == nil, rows: m.rows, hold: none, stop: none, interrupted: interrupted,
	}
	x.size = x.threads + x.cells + 2*x.locks + len(m.messages)
	x.now = make([]int32, x.size)
	x.classify()
	x.findActs()
	x.findSections()
	x.findMovers()
	return x
}

// depth returns by how many sections, of those that its thread starts at first or later, a
// thread is in more after a node than before it.
func (x *moves) depth(n, first order.Node) (by int) {
	m := x.m
	if m.begins[n] >= 0 {
		by++
	}
	if id := m.ends[n]; id >= 0 && m.sections[id].chain == m.chain[n] && m.sections[id].acquire >= first {
		by--
	}
	return by
}

// reset goes back to the window's start.
func (x *moves) reset() {
	clear(x.now)
	copy(x.now[x.threads:], x.start)
	x.path = x.path[:0]
	for i := range x.m.locks {
		for _, id := range x.m.locks[i].sections {
			s := &x.m.sections[id]
			if s.acquire != none {
				break
			}
			at := x.held(s.lock)
			if s.shared {
				at++
			}
			x.now[at]++
		}
	}
}

// held returns where in a state is by how many a lock is held exclusively; next to it is by
// how many it is held shared.
func (x *moves) held(lock int32) int32 { return int32(x.threads+x.cells) + 2*lock }

// sees returns the class of what a cell holds.
func (x *moves) sees(cell int32) int32 {
	return x.now[x.threads+int(cell)]
}

// next returns a thread's next node, or none.
func (x *moves) next(k int) order.Node {
	n := x.m.base[k] + order.Node(x.now[k])
	if n == x.m.base[k+1] {
		return none
	}
	return n
}

// possible reports whether a node that is next in its thread can come now.
func (x *moves) possible(n order.Node) bool {
	if n == x.hold || n == x.stop {
		return false
	}
	a := &x.acts[n]
	if a.wants >= 0 {
		if a.wants != x.sees(a.cell) {
			return false
		}
	} else if a.wants == manyCells && !x.seesAll(n) {
		return false
	}
	if a.asks && !x.called(n) {
		return false
	}
	if at := a.takes; at > 0 && (x.now[at] > 0 || x.now[at+1] > 0 && !a.shared) {
		return false
	}
	if m := x.m; a.message && m.receives(n) {
		return x.now[x.size-len(m.messages)+int(m.message[n])] == m.rank[n]
	}
	return true
}

// seesAll reports whether a node would see what it may see in all cells that it reads.
func (x *moves) seesAll(n order.Node) bool {
	m := x.m
	for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
		if t.read >= 0 && x.want[t.read] != x.sees(t.cell) {
			return false
		}
	}
	return true
}

// called reports whether what has to come before a node that is next in its thread has come.
func (x *moves) called(n order.Node) bool {
	own := int(x.m.chain[n])
	width := x.threads + 1
	row := x.rows[int(n)*width : int(n)*width+width]
	if row[x.threads] > 0 {
		return false // it comes after the goal
	}
	for k, v := range row[:x.threads] {
		if v > x.now[k] && k != own {
			return false
		}
	}
	return true
}

// quiet reports whether a node that can come now hinders nobody if it does, unless
// it takes a lock.
func (x *moves) quiet(n order.Node) bool {
	a := &x.acts[n]
	switch {
	case a.mover || !x.bold:
		return a.mover
	case a.message && !x.m.receives(n):
		return false
	case a.cell == manyCells:
		return !x.changes(n)
	}
	return a.leaves == x.sees(a.cell)
}

// changes reports whether a node would change what a cell holds.
func (x *moves) changes(n order.Node) bool {
	m := x.m
	for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
		if t := &m.touches[i]; t.write && x.class[i] != x.sees(t.cell) {
			return true
		}
	}
	return false
}

// step lets a node come.
func (x *moves) step(n order.Node) {
	m, a := x.m, &x.acts[n]
	x.now[a.thread]++
	x.path = append(x.path, n)
	if a.leaves >= 0 {
		x.now[x.threads+int(a.cell)] = a.leaves
	} else if a.cell == manyCells {
		for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
			if t := &m.touches[i]; t.write {
				x.now[x.threads+int(t.cell)] = x.class[i]
			}
		}
	}
	x.count(a, 1)
	if a.message && !m.receives(n) {
		x.now[x.size-len(m.messages)+int(m.message[n])]++
	}
}

// count counts the locks that a node takes and gives back, or does not any more.
func (x *moves) count(a *act, by int32) {
	if at := a.takes; at > 0 {
		if a.shared {
			at++
		}
		x.now[at] += by
	}
	if a.returns > 0 {
		x.now[a.returns] -= by
	}
}

// settle takes all steps that hinder nobody.
func (x *moves) settle() {
	for moved := true; moved; {
		moved = false
		for k := range x.threads {
			moved = x.glide(k) || moved
		}
	}
}

// resettle is settle where all such steps had been taken before those of the path from one
// on: it looks only at threads that took these, and at what their steps may be of use to.
func (x *moves) resettle(from int) {
	for from < len(x.path) {
		moved, given := uint64(0), uint64(0)
		for _, n := range x.path[from:] {
			moved |= 1 << (x.m.chain[n] % 64)
			given |= x.gives[n]
		}
		from = len(x.path)
		base, needs := x.m.base, x.needs
		for k, v := range x.now[:x.threads] {
			if n := base[k] + order.Node(v); n < base[k+1] && (needs[n]&given != 0 || moved>>(k%64)&1 != 0) {
				x.glide(k)
			}
		}
	}
}

// glide lets a thread take steps that hinder nobody, and reports whether there were any.
func (x *moves) glide(k int) (moved bool) {
	for n := x.next(k); n != none; n = x.next(k) {
		a := &x.acts[n]
		if a.takes > 0 {
			if !a.reads && !(x.bold && a.passes) || !x.fits(a) || !x.possible(n) || !x.pass(k) {
				break
			}
		} else {
			if !a.mover && !x.bold || !x.possible(n) || !x.quiet(n) {
				break
			}
			x.step(n)
		}
		moved = true
	}
	return moved
}

// fits reports whether memory holds what a critical section that can hinder nobody finds.
func (x *moves) fits(a *act) bool {
	for _, c := range x.finds[a.finds[0]:a.finds[1]] {
		if x.sees(c.cell) != c.class {
			return false
		}
	}
	return true
}

// pass takes a thread through a critical section, if all of its steps are possible
// and in sum hinder nobody.
func (x *moves) pass(k int) bool {
	size := len(x.path)
	first, open := x.next(k), 0
	for n := first; n != none && x.possible(n); n = x.next(k) {
		if !x.quiet(n) {
			break
		}
		open += x.depth(n, first)
		if x.step(n); open == 0 {
			return true
		}
	}
	for ; len(x.path) > size; x.path = x.path[:len(x.path)-1] {
		n := x.path[len(x.path)-1]
		x.now[k]--
		x.count(&x.acts[n], -1)
	}
	return false
}

// through takes a thread through a critical section in one go, whatever it does there,
// and reports whether that is possible; if not, the state at hand is useless.
func (x *moves) through(k int) bool {
	first, open := x.next(k), 0
	for n := first; n != none && x.possible(n); n = x.next(k) {
		open += x.depth(n, first)
		if x.step(n); open == 0 {
			return true
		}
	}
	return false
}

// ready reports whether what has to come before a node can be next, besides its
// thread's steps, has come.
func (x *moves) ready(n order.Node) bool {
	m := x.m
	for i := m.intoAt[n]; i < m.intoAt[n+1]; i++ {
		if e := m.edges[i].from; x.now[m.chain[e]] <= m.pos(e) {
			return false
		}
	}
	return true
}

// idle reports whether a node can neither hinder nor help another thread.
func (x *moves) idle(n order.Node) bool {
	m := x.m
	return m.begins[n] < 0 && (m.message[n] < 0 || m.receives(n)) &&
		!slices.ContainsFunc(m.touches[m.touchAt[n]:m.touchAt[n+1]], func(t touch) bool { return t.write })
}

// clash reports whether two nodes access a cell, one of them writing.
func (x *moves) clash(a, b order.Node) bool {
	k, l := x.acts[a].cell, x.acts[b].cell
	switch {
	case k == noCell || l == noCell:
		return false
	case k >= 0 && l >= 0:
		return k == l && (x.acts[a].writes || x.acts[b].writes)
	}
	m := x.m
	for _, t := range m.touches[m.touchAt[a]:m.touchAt[a+1]] {
		for _, u := range m.touches[m.touchAt[b]:m.touchAt[b+1]] {
			if t.cell == u.cell && (t.write || u.write) {
				return true
			}
		}
	}
	return false
}
