package order

// linearizer builds candidates: total orders that agree with the decided order. It goes through the
// nodes in the preferred order. Before each node it places the nodes that must come before it, in
// the preferred order too. So a decision moves only the nodes that it concerns.
type linearizer struct {
	hint   []Node  // the preferred order
	rank   []int32 // by node: its place in hint
	placed []int32 // by chain: how many of its nodes are placed
	order  []Node  // the candidate
	stack  []Node  // nodes that wait for others
}

func (l *linearizer) init(nodes, width int) {
	l.rank = make([]int32, nodes)
	l.placed = make([]int32, width)
	l.prefer(nil)
}

// prefer sets the preferred order: the given nodes, no two of which are equal, and then all others
// by number.
func (l *linearizer) prefer(nodes []Node) {
	for n := range l.rank {
		l.rank[n] = -1
	}
	for i, n := range nodes {
		l.rank[n] = int32(i)
	}
	l.hint = append(l.hint[:0], nodes...)
	for n, r := range l.rank {
		if r < 0 {
			l.rank[n] = int32(len(l.hint))
			l.hint = append(l.hint, Node(n))
		}
	}
}

// linearize builds the candidate in lin.order and the positions of the nodes in it. It places the
// goal as early as possible, so that its presumed literals hold. It reports false if it finds a
// cycle; see raise.
func (s *Solver) linearize() bool {
	l := &s.lin
	clear(l.placed)
	l.order = l.order[:0]
	if k := s.rows.goal; k >= 0 {
		s.place(k)
	}
	for _, n := range l.hint {
		if s.posOf[n] >= l.placed[s.chainOf[n]] && !s.place(n) {
			return false
		}
	}
	return true
}

// place appends a node to the candidate, after the nodes that must come before it. It reports false
// if there is a cycle.
func (s *Solver) place(n Node) bool {
	l := &s.lin
	l.stack = append(l.stack[:0], n)
	for len(l.stack) > 0 {
		x := l.stack[len(l.stack)-1]
		if y := s.firstBefore(x); y >= 0 {
			if len(l.stack) > len(l.rank) {
				return false
			}
			l.stack = append(l.stack, y)
			continue
		}
		l.stack = l.stack[:len(l.stack)-1]
		l.placed[s.chainOf[x]]++
		s.position[x] = int32(len(l.order))
		l.order = append(l.order, x)
	}
	return true
}

// firstBefore returns a node that must come before x and is not placed yet: the first of its chain,
// and of these the first in the preferred order. It returns -1 if there is none. Rows do not
// contain what comes after the goal, but the goal is placed before all of that.
func (s *Solver) firstBefore(x Node) Node {
	l := &s.lin
	best := Node(-1)
	row := s.rows.cell[int(x)*s.width : int(x)*s.width+s.width]
	for c, n := range l.placed {
		if n < row[c] {
			if y := s.first[c] + Node(n); y != x && (best < 0 || l.rank[y] < l.rank[best]) {
				best = y
			}
		}
	}
	return best
}
