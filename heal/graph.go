package heal

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
)

// Graph is the control flow of a function. Its nodes are numbered from 0. Control enters at node 0, and leaves
// after a node without successors.
//
// A node stands for a step that is either done or not, such as a statement, or an operand that is
// evaluated. A node makes at most one access to a variable that locks are placed for.
//
// The zero Graph has no nodes. A Graph may be read by several goroutines at a time.
type Graph struct {
	succs, preds [][]int
}

// NewGraph returns a graph of n nodes without edges. If n is negative, the error wraps heisen.ErrOption.
func NewGraph(n int) (*Graph, error) {
	if n < 0 {
		return nil, fmt.Errorf("heal.NewGraph: %w: %d nodes", heisen.ErrOption, n)
	}
	return &Graph{make([][]int, n), make([][]int, n)}, nil
}

// Nodes returns the number of nodes. A nil Graph has none.
func (g *Graph) Nodes() int {
	if g == nil {
		return 0
	}
	return len(g.succs)
}

// AddEdge adds an edge, unless it is there already. If a node is out of range, the error wraps
// heisen.ErrOption.
func (g *Graph) AddEdge(from, to int) error {
	if err := g.check(from); err != nil {
		return fmt.Errorf("Graph.AddEdge: %w", err)
	}
	if err := g.check(to); err != nil {
		return fmt.Errorf("Graph.AddEdge: %w", err)
	}
	if !slices.Contains(g.succs[from], to) {
		g.succs[from] = append(g.succs[from], to)
		g.preds[to] = append(g.preds[to], from)
	}
	return nil
}

// check returns an error if node is out of range.
func (g *Graph) check(node int) error {
	if node < 0 || node >= g.Nodes() {
		return fmt.Errorf("%w: node %d of a graph with %d nodes", heisen.ErrOption, node, g.Nodes())
	}
	return nil
}

// successors returns the nodes after node; Exit, if control leaves the function there.
func (g *Graph) successors(node int) []int {
	if len(g.succs[node]) == 0 {
		return exits
	}
	return g.succs[node]
}

var exits = []int{Exit}

// between returns, for each node, whether it is on a path from one node to another whose nodes in between
// are neither of the two, nor any for which stop is true. The two belong to the result, unless there is no
// such path.
func (g *Graph) between(from, to int, stop func(int) bool) []bool {
	inside := func(node int) bool { return node != from && node != to && !stop(node) }
	forth := reach(g.succs, from, inside)
	if !forth[to] {
		return make([]bool, g.Nodes())
	}
	back := reach(g.preds, to, inside)
	for i := range forth {
		forth[i] = i == from || i == to || forth[i] && back[i] && inside(i)
	}
	return forth
}

// held returns, for each node, whether the lock of a hold is held there.
func (g *Graph) held(h Hold) []bool {
	live := make([]bool, g.Nodes())
	if h.First != h.Second {
		through := func(node int) bool { return node != h.First && !slices.Contains(h.Ends, node) }
		forth := reach(g.succs, h.First, through)
		back := reach(g.preds, h.Second, through)
		back[h.Second] = true
		for node := range live {
			live[node] = forth[node] && back[node] && (through(node) || node == h.Second)
		}
	}
	live[h.First] = true
	return live
}

// reach returns the nodes that edges lead to from start, through nodes for which through is true.
func reach(edges [][]int, start int, through func(int) bool) []bool {
	seen := make([]bool, len(edges))
	stack := []int{start}
	for first := true; len(stack) > 0; first = false {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !first && !through(node) {
			continue
		}
		for _, next := range edges[node] {
			if !seen[next] {
				seen[next] = true
				stack = append(stack, next)
			}
		}
	}
	return seen
}
