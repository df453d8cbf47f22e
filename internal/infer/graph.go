package infer

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// graph has the post-dominators of the blocks of a function.
type graph struct {
	after []set // for each block, the blocks on all paths from it to the end
}

// set is a set of the blocks of a function.
type set []uint64

func newSet(n int) set       { return make(set, (n+63)/64) }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s set) intersect(other set) {
	for i := range s {
		s[i] &= other[i]
	}
}

func (p *program) graph(fn *ssa.Function) *graph {
	g := p.graphs[fn]
	if g == nil {
		g = newGraph(fn)
		p.graphs[fn] = g
	}
	return g
}

// newGraph computes post-dominators. For a block that cannot reach the end, in an endless loop,
// paths end where the loop begins again.
func newGraph(fn *ssa.Function) *graph {
	n := len(fn.Blocks)
	ends := newSet(n)
	var work []*ssa.BasicBlock
	for _, b := range fn.Blocks {
		if len(b.Succs) == 0 {
			ends.add(b.Index)
			work = append(work, b)
		}
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, pred := range b.Preds {
			if !ends.has(pred.Index) {
				ends.add(pred.Index)
				work = append(work, pred)
			}
		}
	}
	g := &graph{after: make([]set, n)}
	for i := range g.after {
		g.after[i] = newSet(n)
		for j := range g.after[i] {
			g.after[i][j] = ^uint64(0)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := n - 1; i >= 0; i-- {
			b := fn.Blocks[i]
			next := newSet(n)
			first := true
			for _, succ := range b.Succs {
				if !ends.has(i) && succ.Dominates(b) {
					continue
				}
				if first {
					copy(next, g.after[succ.Index])
					first = false
				} else {
					next.intersect(g.after[succ.Index])
				}
			}
			next.add(i)
			if !slices.Equal(next, g.after[i]) {
				g.after[i], changed = next, true
			}
		}
	}
	return g
}

// inBranch reports whether the outcome of the If at the end of block test decides whether control
// reaches block b: some path from the test avoids b, or b can be reached through one outcome only.
func (g *graph) inBranch(test, b *ssa.BasicBlock) bool {
	if !g.after[test.Index].has(b.Index) {
		return true
	}
	for _, succ := range test.Succs {
		if len(succ.Preds) == 1 && succ.Dominates(b) {
			return true
		}
	}
	return false
}
