package order

// linearizer turns what is decided into a total order. It goes through the nodes
// in the preferred order; where others must come before a node, it puts those
// first, in the preferred order too. So what nothing was decided about stays as
// it was preferred, and a decision moves only the nodes that it concerns.
type linearizer struct {
	hint  []Node  // the preferred order
	rank  []int32 // by node: its place in hint
	done  []int32 // by chain: how many of its nodes are placed
	order []Node  // the candidate
	stack []Node  // nodes that wait for others
}

func (l *linearizer) init(nodes, width int) {
	l.rank = make([]int32, nodes)
	l.done = make([]int32, width)
	l.reset()
	l.nameRest()
}

func (l *linearizer) reset() {
	l.hint = l.hint[:0]
	for i := range l.rank {
		l.rank[i] = -1
	}
}

// name makes a node the next one that is preferred. It reports false if it was
// named before.
func (l *linearizer) name(n Node) bool {
	if l.rank[n] >= 0 {
		return false
	}
	l.rank[n] = int32(len(l.hint))
	l.hint = append(l.hint, n)
	return true
}

func (l *linearizer) nameRest() {
	for n, r := range l.rank {
		if r < 0 {
			l.name(Node(n))
		}
	}
}

// linearize builds the candidate, in lin.order, and where each node is in it. The
// sink comes as early as it can, so that its lax literals hold. It reports false if it
// has met a cycle, see raise.
func (s *Solver) linearize() bool {
	l := &s.lin
	clear(l.done)
	l.order = l.order[:0]
	if k := s.rows.goal; k >= 0 {
		s.put(k)
	}
	for _, n := range l.hint {
		if s.posOf[n] >= l.done[s.chainOf[n]] && !s.put(n) {
			return false
		}
	}
	return true
}

// put appends a node to the candidate, and before it what must come before it.
// It reports false if that is a cycle.
func (s *Solver) put(n Node) bool {
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
		l.done[s.chainOf[x]]++
		s.where[x] = int32(len(l.order))
		l.order = append(l.order, x)
	}
	return true
}

// firstBefore returns the node that must come before x, is not placed yet and is
// the first of its chain and then in the preferred order, or -1. Rows do not say
// what comes after the sink; but the sink was placed before all that does.
func (s *Solver) firstBefore(x Node) Node {
	l := &s.lin
	best := Node(-1)
	row := s.rows.cell[int(x)*s.width : int(x)*s.width+s.width]
	for c, n := range l.done {
		if n < row[c] {
			if y := s.first[c] + Node(n); y != x && (best < 0 || l.rank[y] < l.rank[best]) {
				best = y
			}
		}
	}
	return best
}
