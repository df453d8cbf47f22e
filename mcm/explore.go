package mcm

import "github.com/heisen-go/heisen/mcm/order"

// explorer looks for an answer among schedules: from where the observed order has
// brought all threads it lets them go on in any other order, first where that
// brings the threads nearest to the goal, until its budget of states is spent. Two
// things keep the states few:
//
//   - A step that hinders nobody is taken at once: a read of what it may see, a
//     release, a write of the value that is there, a whole critical section of such
//     steps. If there is an answer from here without the step, there is one with it.
//     What is left to choose is who takes a lock and who writes another value.
//   - Writes of the same value are the same to those that read, so that states which
//     differ in who wrote are one.
//
// It is where reads have choices that a schedule finds at once what follows from no
// constraint: there are many ways, and each of them is short.
type explorer struct {
	m *Model
	c *closure

	class  []int32      // by touch: writes of the same class are the same to reads
	writer []order.Node // by touch: its node
	start  []int32      // by cell: the class of what was there before the window
	want   []int32      // by read: the class that it may see

	// A state is a piece of memory: by thread how many nodes have come; by cell the
	// touch that wrote it last, plus one; by lock how many hold it exclusively, and
	// shared; by message how many were sent.
	threads, cells, locks, size int

	now    []int32 // the state at hand
	path   []order.Node
	states []int32 // all that wait to be looked at
	list   []state
	steps  []order.Node // that led to them
	heap   []int32
	seen   map[uint64]struct{}
	goal   []int32
}

// state is what is known of a state besides.
type state struct {
	parent   int32
	from, to int32 // its part of steps
	left     int32 // how many nodes the goal waits for
}

const (
	exploreStates = 300 // that are looked at from one start
	exploreStarts = 6
)

func newExplorer(m *Model, c *closure) *explorer {
	x := &explorer{
		m: m, c: c, class: make([]int32, len(m.touches)), writer: make([]order.Node, len(m.touches)),
		start: make([]int32, len(m.cells)), want: make([]int32, len(m.reads)), seen: map[uint64]struct{}{},
		threads: len(m.base) - 2, cells: len(m.cells), locks: len(m.locks),
	}
	x.size = x.threads + x.cells + 2*x.locks + len(m.messages)
	x.now = make([]int32, x.size)
	for n := range m.goal {
		for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
			x.class[i], x.writer[i] = int32(n)+1, n
		}
	}
	for i := range m.reads {
		r := &m.reads[i]
		if len(r.same) == 0 {
			x.want[i] = int32(r.saw) + 1
			continue
		}
		key := int32(r.same[0]) + 1
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
	if t := x.now[x.threads+int(cell)]; t > 0 {
		return x.class[t-1]
	}
	return x.start[cell]
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

// quiet reports whether a node that can come now hinders nobody if it does.
func (x *explorer) quiet(n order.Node) bool {
	m := x.m
	if m.begins[n] >= 0 || m.message[n] >= 0 && !m.receives(n) {
		return false
	}
	for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
		if t := &m.touches[i]; t.write && x.class[i] != x.sees(t.cell) {
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
			x.now[x.threads+int(t.cell)] = i + 1
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
				if x.quiet(n) {
					x.step(n)
				} else if x.m.begins[n] < 0 || !x.pass(k) {
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
	open := 0
	for n := x.next(k); n != none && x.possible(n); n = x.next(k) {
		switch {
		case m.begins[n] >= 0:
			open++
		case !x.quiet(n):
			n = none
		case m.ends[n] >= 0:
			open--
		}
		if n == none {
			break
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

// hash identifies the state at hand by who has come how far and what reads see.
func (x *explorer) hash() uint64 {
	h := uint64(14695981039346656037)
	for _, v := range x.now[:x.threads] {
		h = (h ^ uint64(v)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for c := range x.cells {
		h = (h ^ uint64(x.sees(int32(c)))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// left returns how many nodes the goal waits for.
func (x *explorer) left() (n int32) {
	for k, v := range x.goal[:x.threads] {
		n += max(0, v-x.now[k])
	}
	return n
}

// explore looks for an answer to the question that the closure has taken in. It
// returns the nodes up to the goal, or nil.
func (x *explorer) explore() []order.Node {
	m := x.m
	x.goal = x.c.row(m.goal)
	clear(x.seen)
	far := x.follow(len(m.hint))
	back := 0
	for range exploreStarts {
		if nodes := x.from(); nodes != nil {
			return nodes
		}
		if back >= far {
			return nil
		}
		back = 4*back + 4
		x.follow(max(0, far-back))
	}
	return nil
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

// from searches from the state at hand, the best state first.
func (x *explorer) from() []order.Node {
	x.states, x.list, x.steps, x.heap = x.states[:0], x.list[:0], x.steps[:0], x.heap[:0]
	if x.push(-1) {
		return x.trace()
	}
	for range exploreStates {
		if len(x.heap) == 0 {
			return nil
		}
		at := x.pop()
		for k := range x.threads {
			copy(x.now, x.states[int(at)*x.size:])
			x.path = x.path[:0]
			n := x.next(k)
			if n == none || !x.possible(n) {
				continue
			}
			x.step(n)
			if x.push(at) {
				return x.trace()
			}
		}
	}
	return nil
}

// push settles the state at hand and keeps it if it is new. It reports whether it is
// the goal.
func (x *explorer) push(parent int32) bool {
	x.settle()
	h := x.hash()
	if _, known := x.seen[h]; known {
		return false
	}
	x.seen[h] = struct{}{}
	from := int32(len(x.steps))
	x.steps = append(x.steps, x.path...)
	x.states = append(x.states, x.now...)
	left := x.left()
	x.list = append(x.list, state{parent, from, int32(len(x.steps)), left})
	x.heap = append(x.heap, int32(len(x.list)-1))
	x.up(len(x.heap) - 1)
	return left == 0
}

// trace returns the nodes that led to the state that was pushed last.
func (x *explorer) trace() []order.Node {
	x.path = x.path[:0]
	var chain []int32
	for at := int32(len(x.list) - 1); at >= 0; at = x.list[at].parent {
		chain = append(chain, at)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		s := x.list[chain[i]]
		x.path = append(x.path, x.steps[s.from:s.to]...)
	}
	return x.path
}

// above says which of two states is looked at first.
func (x *explorer) above(a, b int32) bool {
	if x.list[a].left != x.list[b].left {
		return x.list[a].left < x.list[b].left
	}
	return a > b
}

func (x *explorer) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !x.above(x.heap[i], x.heap[p]) {
			return
		}
		x.heap[i], x.heap[p] = x.heap[p], x.heap[i]
		i = p
	}
}

func (x *explorer) pop() int32 {
	top := x.heap[0]
	last := len(x.heap) - 1
	x.heap[0] = x.heap[last]
	x.heap = x.heap[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			return top
		}
		if k+1 < last && x.above(x.heap[k+1], x.heap[k]) {
			k++
		}
		if !x.above(x.heap[k], x.heap[i]) {
			return top
		}
		x.heap[i], x.heap[k] = x.heap[k], x.heap[i]
		i = k
	}
}
