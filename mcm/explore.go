package mcm

import "github.com/heisen-go/heisen/mcm/order"

// explorer looks for an answer among schedules: from where the observed order has
// brought all threads it lets them go on in any other order, first where that
// brings the threads nearest to the goal, until its budget of states is spent. Two
// things keep the states few:
//
//   - A step that hinders nobody is taken at once: a read of what it may see, a
//     release, a whole critical section of such steps. If there is an answer from
//     here without the step, there is one with it. What is left to choose is who
//     takes a lock and who writes. (A write of the value that is there may be of use
//     later, when it is not there any more, and is taken at once only by a bold
//     search, which does not look everywhere.)
//   - Writes of the same value are the same to those that read, so that states which
//     differ in who wrote are one.
//
// It is where reads have choices that a schedule finds at once what follows from no
// constraint: there are many ways, and each of them is short.
type explorer struct {
	m *Model
	c *closure

	class []int32 // by touch: writes of the same class are the same to reads
	start []int32 // by cell: the class of what was there before the window
	want  []int32 // by read: the class that it may see
	exact bool    // states say all that matters, so that no answer among all of them is an answer

	threads, cells, locks, size int // of states
	found                       *states

	now  []int32      // the state at hand
	path []order.Node // what led to it from its parent
	goal []int32
	bold bool // a write of the value that is there is taken at once

	heap   []waiting // states to be looked at
	search uint32    // counts searches
	seen   []uint32  // by state: the last search that came by

	looked, nearby int // states that were looked at, for all questions, in search of all, and near
}

// waiting is a state that is to be looked at.
type waiting struct {
	state int32
	left  int32 // how many nodes the goal waits for
}

func newExplorer(m *Model, c *closure) *explorer {
	x := &explorer{
		m: m, c: c, class: make([]int32, len(m.touches)),
		start: make([]int32, len(m.cells)), want: make([]int32, len(m.reads)),
		threads: len(m.base) - 2, cells: len(m.cells), locks: len(m.locks),
		exact: m.flow == nil,
	}
	x.size = x.threads + x.cells + 2*x.locks + len(m.messages)
	x.now = make([]int32, x.size)
	x.found = newStates(m, x.size, x.threads+x.cells)
	for n := range m.goal {
		for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
			x.class[i] = int32(n) + 1
		}
	}
	for i := range m.reads {
		r := &m.reads[i]
		x.want[i] = int32(r.saw) + 1
		if len(r.same) == 0 {
			continue
		}
		key := -int32(r.same[0]) - 1
		x.want[i] = key
		if r.init {
			x.start[r.cell] = key
		}
		if x.class[m.touchOf(r.same[len(r.same)-1], r.cell)] != key {
			for _, w := range r.same {
				x.class[m.touchOf(w, r.cell)] = key
			}
		}
	}
	for i := range m.reads {
		r := &m.reads[i]
		x.exact = x.exact && r.init == (x.start[r.cell] == x.want[i]) &&
			(r.saw == none || x.class[m.touchOf(r.saw, r.cell)] == x.want[i])
	}
	// Sections of one thread may overlap, but states only count them.
	for i := range m.locks {
		last := map[int32]*section{}
		for _, id := range m.locks[i].sections {
			b := &m.sections[id]
			if a := last[b.chain]; a != nil {
				x.exact = x.exact && a.release != none && b.acquire != none && m.before(a.release, b.acquire)
			}
			last[b.chain] = b
		}
	}
	return x
}

// touchOf returns a node's touch of a cell.
func (m *Model) touchOf(n order.Node, cell int32) int32 {
	i := m.touchAt[n]
	for m.touches[i].cell != cell {
		i++
	}
	return i
}

// reset goes back to the window's start.
func (x *explorer) reset() {
	clear(x.now)
	copy(x.now[x.threads:], x.start)
	x.path = x.path[:0]
	for i := range x.m.locks {
		for _, id := range x.m.locks[i].sections {
			s := &x.m.sections[id]
			if s.acquire != none {
				break
			}
			*x.holds(s)++
		}
	}
}

// holds returns the number of those who hold a section's lock as it does.
func (x *explorer) holds(s *section) *int32 {
	at := x.threads + x.cells + 2*int(s.lock)
	if s.shared {
		at++
	}
	return &x.now[at]
}

// sees returns the class of what a cell holds.
func (x *explorer) sees(cell int32) int32 {
	return x.now[x.threads+int(cell)]
}

// next returns a thread's next node, or none.
func (x *explorer) next(k int) order.Node {
	n := x.m.base[k] + order.Node(x.now[k])
	if n == x.m.base[k+1] {
		return none
	}
	return n
}

// possible reports whether a node that is next in its thread can come now.
func (x *explorer) possible(n order.Node) bool {
	m := x.m
	own := int(m.chain[n])
	row := x.c.row(n)
	if row[x.threads] > 0 {
		return false // it comes after the goal
	}
	for k, v := range row[:x.threads] {
		if v > x.now[k] && k != own {
			return false
		}
	}
	for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
		if t.read >= 0 && x.want[t.read] != x.sees(t.cell) {
			return false
		}
	}
	if id := m.begins[n]; id >= 0 {
		at := x.threads + x.cells + 2*int(m.sections[id].lock)
		if x.now[at] > 0 || x.now[at+1] > 0 && !m.sections[id].shared {
			return false
		}
	}
	if q := m.message[n]; q >= 0 && m.receives(n) {
		return x.now[x.size-len(m.messages)+int(q)] == m.rank[n]
	}
	return true
}

// quiet reports whether a node that can come now hinders nobody if it does, unless
// it takes a lock.
func (x *explorer) quiet(n order.Node) bool {
	m := x.m
	if m.message[n] >= 0 && !m.receives(n) {
		return false
	}
	for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
		if t := &m.touches[i]; t.write && (!x.bold || x.class[i] != x.sees(t.cell)) {
			return false
		}
	}
	return true
}

// step lets a node come.
func (x *explorer) step(n order.Node) {
	m := x.m
	x.now[m.chain[n]]++
	x.path = append(x.path, n)
	for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
		if t := &m.touches[i]; t.write && x.class[i] != x.sees(t.cell) {
			x.now[x.threads+int(t.cell)] = x.class[i]
		}
	}
	if id := m.begins[n]; id >= 0 {
		*x.holds(&m.sections[id])++
	}
	if id := m.ends[n]; id >= 0 {
		*x.holds(&m.sections[id])--
	}
	if q := m.message[n]; q >= 0 && !m.receives(n) {
		x.now[x.size-len(m.messages)+int(q)]++
	}
}

// settle takes all steps that hinder nobody.
func (x *explorer) settle() {
	for moved := true; moved; {
		moved = false
		for k := range x.threads {
			for n := x.next(k); n != none && x.possible(n); n = x.next(k) {
				if x.m.begins[n] < 0 {
					if !x.quiet(n) {
						break
					}
					x.step(n)
				} else if !x.pass(k) {
					break
				}
				moved = true
			}
		}
	}
}

// pass takes a thread through a critical section, if all of its steps are possible
// and in sum hinder nobody.
func (x *explorer) pass(k int) bool {
	m := x.m
	size := len(x.path)
	first, open := x.next(k), 0
	for n := first; n != none && x.possible(n); n = x.next(k) {
		if !x.quiet(n) {
			break
		}
		if m.begins[n] >= 0 {
			open++
		}
		if id := m.ends[n]; id >= 0 && m.sections[id].chain == int32(k) && m.sections[id].acquire >= first {
			open--
		}
		if x.step(n); open == 0 {
			return true
		}
	}
	for ; len(x.path) > size; x.path = x.path[:len(x.path)-1] {
		n := x.path[len(x.path)-1]
		x.now[k]--
		if id := m.begins[n]; id >= 0 {
			*x.holds(&m.sections[id])--
		}
		if id := m.ends[n]; id >= 0 {
			*x.holds(&m.sections[id])++
		}
	}
	return false
}

// left returns how many nodes the goal waits for in a state.
func (x *explorer) left(now []int32) (n int32) {
	for k, v := range x.goal[:x.threads] {
		n += max(0, v-now[k])
	}
	return n
}

// met returns the nodes up to where a question has its answer, if a search has come
// by there, or nil.
func (x *explorer) met(q *query) []order.Node {
	if len(q.next) != 2 || len(q.past)+len(q.order) > 0 {
		return nil
	}
	path, ok := x.found.met(q.next[0], q.next[1], x.path[:0])
	if x.path = path; !ok {
		return nil
	}
	m, come := x.m, x.now[:x.threads]
	clear(come)
	for _, n := range path {
		come[m.chain[n]]++
	}
	for _, n := range q.next {
		for i := m.intoAt[n]; i < m.intoAt[n+1]; i++ {
			if e := m.edges[i].from; come[m.chain[e]] <= m.pos(e) {
				return nil
			}
		}
	}
	return path
}

// near looks for an answer to the question that the closure has taken in from
// states where one of the accesses asked about is next, from where the observed
// order leads, and then from ever farther back, at so many states at most, and some
// more if there is a long way to go. It returns the nodes up to the goal, or nil.
func (x *explorer) near(q *query, states int) []order.Node {
	x.begin(true)
	for _, n := range q.next {
		for _, i := range x.found.nearby[kept*int(n) : kept*int(n)+kept] {
			if i >= 0 && x.before(i) && x.wait(i) {
				return x.found.trace(i, x.path[:0])
			}
		}
	}
	looked := x.looked
	defer func() { // another account
		x.nearby += x.looked - looked
		x.looked = looked
	}()
	far := x.follow(len(x.m.hint))
	states += statesPerNode * int(x.left(x.now))
	part := states / 2
	for back := 0; back < far && x.looked-looked < states; back = 4*back + 4 {
		if back > 0 {
			x.begin(true)
			x.follow(far - back)
			part = states / 4
		}
		if verdict, nodes := x.best(-1, part); verdict == Possible {
			return nodes
		}
	}
	return nil
}

// before reports whether a state comes before the goal.
func (x *explorer) before(i int32) bool {
	for k, v := range x.found.at(i)[:x.threads] {
		if v > 0 && x.c.row(x.m.base[k] + order.Node(v) - 1)[x.threads] > 0 {
			return false
		}
	}
	return true
}

// all looks for an answer among all states, at so many at most. A verdict other
// than Unknown is exact but for reads that need not see what they saw.
func (x *explorer) all(states int) (Verdict, []order.Node) {
	x.begin(false)
	x.reset()
	return x.best(-1, states)
}

// statesPerNode is how many states a search near at hand may look at for each node
// that the goal waits for.
const statesPerNode = 8

// begin begins a search.
func (x *explorer) begin(bold bool) {
	x.goal = x.c.row(x.m.goal)
	x.bold = bold
	x.heap = x.heap[:0]
	x.search++
	if x.found.full() {
		x.found.reset()
		clear(x.seen)
	}
}

// follow goes along the observed order, as far as that is possible, for so many
// steps at most, and returns how many there were.
func (x *explorer) follow(steps int) int {
	x.reset()
	for _, n := range x.m.hint[1:] {
		if len(x.path) == steps {
			break
		}
		k := x.m.chain[n]
		if x.c.row(n)[x.threads] > 0 {
			continue
		}
		if x.m.pos(n) != x.now[k] || !x.possible(n) {
			break
		}
		x.step(n)
	}
	return len(x.path)
}

// best looks at the state at hand and those that wait, and at states that follow
// from them, the best first, at so many at most. It returns Impossible if these were
// all and there is no answer among them, which is one to the question if the state at
// hand is the window's start.
func (x *explorer) best(parent int32, states int) (Verdict, []order.Node) {
	if i := x.push(parent); i >= 0 {
		return Possible, x.found.trace(i, x.path[:0])
	}
	for range states {
		if len(x.heap) == 0 {
			if x.exact {
				return Impossible, nil
			}
			return Unknown, nil
		}
		if x.found.full() {
			break
		}
		x.looked++
		at := x.pop()
		for k := range x.threads {
			copy(x.now, x.found.at(at))
			x.path = x.path[:0]
			n := x.next(k)
			if n == none || !x.possible(n) {
				continue
			}
			x.step(n)
			if i := x.push(at); i >= 0 {
				return Possible, x.found.trace(i, x.path[:0])
			}
		}
	}
	return Unknown, nil
}

// push settles the state at hand and lets it wait if it is new. It returns it if it is
// the goal, else -1.
func (x *explorer) push(parent int32) int32 {
	x.settle()
	i := x.found.add(x.now, parent, x.path)
	if x.wait(i) {
		return i
	}
	return -1
}

// wait lets a state wait, unless the search has come by before, and reports whether it
// is the goal.
func (x *explorer) wait(i int32) bool {
	for int(i) >= len(x.seen) {
		x.seen = append(x.seen, 0)
	}
	if x.seen[i] == x.search {
		return false
	}
	x.seen[i] = x.search
	left := x.left(x.found.at(i))
	x.heap = append(x.heap, waiting{i, left})
	x.up(len(x.heap) - 1)
	return left == 0
}

// above says which of two states is looked at first.
func (a waiting) above(b waiting) bool {
	if a.left != b.left {
		return a.left < b.left
	}
	return a.state > b.state
}

func (x *explorer) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !x.heap[i].above(x.heap[p]) {
			return
		}
		x.heap[i], x.heap[p] = x.heap[p], x.heap[i]
		i = p
	}
}

func (x *explorer) pop() int32 {
	top := x.heap[0].state
	last := len(x.heap) - 1
	x.heap[0] = x.heap[last]
	x.heap = x.heap[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			return top
		}
		if k+1 < last && x.heap[k+1].above(x.heap[k]) {
			k++
		}
		if !x.heap[k].above(x.heap[i]) {
			return top
		}
		x.heap[i], x.heap[k] = x.heap[k], x.heap[i]
		i = k
	}
}
