package heal

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
)

// Exit is the node in an Edge by which control leaves the function.
const Exit = -1

// Access says that a node accesses the variable.
type Access struct {
	Node  int
	Write bool // whether it may write
}

// Pair says that two accesses are atomic: when a thread makes them one after the other, without another
// access of its own to the variable in between, no other thread writes the variable in between (Shared)
// or accesses it at all (Exclusive). The two may be the same node, in a loop.
type Pair struct {
	First, Second int // nodes, which must be accesses
	Mode          Mode
}

// Hold says that the lock must be held from before the node First until after the node Second, on every
// path between them, whatever accesses there are on it. A path that passes First again or goes beyond a node
// of Ends does not count. Resolve adds holds, so that locks are taken in one order.
type Hold struct {
	First, Second int
	Mode          Mode
	Ends          []int
	Rank          int // from 1; at the same node, a lock of a higher rank is acquired before one of a lower rank
}

// Variable is what Place needs to know about a variable in a function.
type Variable struct {
	Accesses []Access
	Pairs    []Pair
	Holds    []Hold

	// Calls has the nodes that call functions which take the lock of the variable, and the strongest mode
	// in which they do.
	Calls []Call
}

// Call says that a node takes the lock in a function that it calls.
type Call struct {
	Node int
	Mode Mode
}

// Placement says where the lock of a variable is acquired and released in a function, so that all pairs are
// atomic and every access is protected.
//
// A thread holds the lock for a reason: for the latest access, which may be the first of a pair, or for a
// Hold. It holds the lock in the strongest mode of its reasons. Locks are reentrant: what a function that is
// called does with the lock is for reasons of its own.
type Placement struct {
	// Constraints says, for each node, for which pairs the lock must be held when control comes there. These
	// are the lock constraint sets of the paper, without NONE. The modes are those that Place has raised.
	Constraints [][]Pair

	Acquisitions []Acquisition // by node
	Releases     []Release     // by edge

	// Unreachable has the pairs that were left out, because there is no path from the first access to the
	// second one without another access. A profile has such pairs if two calls of a function made them.
	Unreachable []Pair
}

// Acquisition is an operation just before a node. The thread waits until it holds the lock at least in the
// given mode.
type Acquisition struct {
	Node int
	Mode Mode
	// Hold is the number of the Hold that is the reason; -1 if it is the access of the node, which takes the
	// place of the latest access as a reason.
	Hold int
	Rank int // that of the hold, or 0
}

// Release is an operation on the edge between two nodes. If the thread holds the lock for the reason, it
// holds it only in the mode Left for this reason from here on; Free ends the reason.
type Release struct {
	From, To int // To is Exit where control leaves the function
	Access   int // the access that is the reason; -1 if it is a Hold
	Hold     int // the number of the Hold that is the reason; -1 if it is an access
	Left     Mode

	// Always is set if the thread holds the lock for this reason whenever control comes along this edge.
	// Otherwise the operation must look.
	Always bool
}

// Place finds out where a function acquires and releases the lock of one variable. It implements section 7 of
// Weeratunge, Zhang and Jagannathan, Accentuating the Positive (OOPSLA 2011), with the differences that the
// package documentation lists. The cost is about the number of pairs, holds and accesses times the size of the
// graph. If g is nil, anything in v
// is not about g, or a mode is Free, the error wraps heisen.ErrOption.
func Place(g *Graph, v Variable) (*Placement, error) {
	p, err := newPlacer(g, v)
	if err != nil {
		return nil, fmt.Errorf("heal.Place: %w", err)
	}
	return p.placement(), nil
}

// placer places the lock of one variable.
type placer struct {
	g      *Graph
	access []bool // by node
	write  map[int]bool
	calls  []Call
	pairs  []livePair
	holds  []liveHold
	out    Placement

	// origins has, for each node, the accesses that may be the reason for which the lock is held when
	// control comes there; none is one of them if it may be held for no access. Placed holds are in held:
	// whether a hold may be on, and whether it may be off.
	origins []map[int]bool
	held    [][]onOff // by node and hold
}

// none is the origin of a lock that is held for no access.
const none = -1

type onOff struct{ on, off bool }

// newPlacer returns a placer that knows for which reasons the lock is held at each node.
func newPlacer(g *Graph, v Variable) (*placer, error) {
	if g == nil {
		return nil, fmt.Errorf("%w: the graph is nil", heisen.ErrOption)
	}
	p := &placer{g: g, write: map[int]bool{}, access: make([]bool, g.Nodes())}
	if err := p.take(v); err != nil {
		return nil, err
	}
	p.raise()
	p.follow()
	return p, nil
}

// livePair is a pair, and the nodes on paths between its accesses without other accesses.
type livePair struct {
	Pair
	live []bool
}

// arrives reports whether control may come to a node while the lock is held for the pair.
func (p livePair) arrives(node int) bool {
	return p.live[node] && (node != p.First || node == p.Second)
}

type liveHold struct {
	Hold
	live []bool
}

// take checks and stores what is known of the variable.
func (p *placer) take(v Variable) error {
	for _, a := range v.Accesses {
		if err := p.g.check(a.Node); err != nil {
			return err
		}
		p.access[a.Node] = true
		p.write[a.Node] = p.write[a.Node] || a.Write
	}
	for _, c := range v.Calls {
		if err := p.check(c.Node, c.Node, c.Mode); err != nil {
			return err
		}
	}
	p.calls = v.Calls
	modes := map[[2]int]Mode{} // the weakest mode that was profiled counts
	for _, pair := range v.Pairs {
		if err := p.check(pair.First, pair.Second, pair.Mode); err != nil {
			return err
		}
		if !p.access[pair.First] || !p.access[pair.Second] {
			return fmt.Errorf("%w: pair of nodes %d and %d, which are not both accesses", heisen.ErrOption, pair.First, pair.Second)
		}
		key := [2]int{pair.First, pair.Second}
		if mode, ok := modes[key]; !ok || pair.Mode < mode {
			modes[key] = pair.Mode
		}
	}
	for key, mode := range modes {
		pair := Pair{key[0], key[1], mode}
		live := p.g.between(pair.First, pair.Second, func(node int) bool { return p.access[node] })
		if !live[pair.Second] {
			p.out.Unreachable = append(p.out.Unreachable, pair)
			continue
		}
		p.pairs = append(p.pairs, livePair{pair, live})
	}
	slices.SortFunc(p.out.Unreachable, comparePairs)
	slices.SortFunc(p.pairs, func(a, b livePair) int { return comparePairs(a.Pair, b.Pair) })
	for _, h := range v.Holds {
		if err := p.check(h.First, h.Second, h.Mode); err != nil {
			return err
		}
		for _, end := range h.Ends {
			if err := p.g.check(end); err != nil {
				return err
			}
		}
		p.holds = append(p.holds, liveHold{h, p.g.held(h)})
	}
	return nil
}

// check returns an error unless the nodes are nodes of the graph and the mode is one in which a lock is held.
func (p *placer) check(first, second int, mode Mode) error {
	if err := p.g.check(first); err != nil {
		return err
	}
	if err := p.g.check(second); err != nil {
		return err
	}
	if mode == Free || !mode.Valid() {
		return fmt.Errorf("%w: mode %v at node %d", heisen.ErrOption, mode, first)
	}
	return nil
}

func comparePairs(a, b Pair) int {
	if a.First != b.First {
		return a.First - b.First
	}
	return a.Second - b.Second
}

// need returns the mode in which the lock must be held during an access.
func (p *placer) need(node int) Mode {
	mode := Shared
	if p.write[node] {
		mode = Exclusive
	}
	for _, pair := range p.pairs {
		if pair.First == node {
			mode = max(mode, pair.Mode)
		}
	}
	for _, c := range p.calls {
		if c.Node == node && c.Mode > Shared {
			mode = max(mode, Update) // it becomes stronger in the call
		}
	}
	return mode
}

// raise makes Update of Shared where a thread that holds the lock would otherwise have to wait for a stronger
// mode: two threads could then wait for each other.
func (p *placer) raise() {
	for changed := true; changed; {
		changed = false
		for i := range p.pairs {
			pair := &p.pairs[i]
			if pair.Mode == Shared && p.strengthens(pair.arrives) {
				pair.Mode, changed = Update, true
			}
		}
		for i := range p.holds {
			h := &p.holds[i]
			if h.Mode == Shared && p.strengthens(func(node int) bool { return h.live[node] }) {
				h.Mode, changed = Update, true
			}
		}
	}
}

// strengthens reports whether the lock may become stronger than Shared at a node for which at is true.
func (p *placer) strengthens(at func(int) bool) bool {
	for node, ok := range p.access {
		if ok && at(node) && p.need(node) > Shared {
			return true
		}
	}
	for _, c := range p.calls {
		if at(c.Node) && c.Mode > Shared {
			return true
		}
	}
	for _, h := range p.holds {
		if at(h.First) && h.Mode > Shared {
			return true
		}
	}
	return false
}
