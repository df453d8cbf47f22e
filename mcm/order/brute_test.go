package order_test

import (
	"math/rand/v2"
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// model is a total order, as the position of every node, and the values of booleans.
type model struct {
	where []int
	bools []bool
}

func (m model) holds(l order.Lit) bool {
	if l.Before >= 0 {
		return m.where[l.Before] < m.where[l.After]
	}
	k := (-1 - max(l.Before, l.After)) / 2
	return m.bools[k] == (l.Before > l.After)
}

func (m model) satisfies(clause []order.Lit) bool { return slices.ContainsFunc(clause, m.holds) }

// confirms reports whether a learned clause holds.
func (m model) confirms(clause []order.Learned) bool {
	return slices.ContainsFunc(clause, func(l order.Learned) bool {
		if l.Rivals == nil {
			return m.holds(l.Lit)
		}
		return m.sees(l.Read, l.Source, l.Rivals) != l.Not
	})
}

// sees reports whether a source comes before a read and no rival comes between.
func (m model) sees(read, source order.Node, rivals []order.Node) bool {
	from := -1
	if source >= 0 {
		from = m.where[source]
	}
	return from < m.where[read] && !slices.ContainsFunc(rivals, func(x order.Node) bool {
		return m.where[x] > from && m.where[x] < m.where[read]
	})
}

func (m model) allHold(ls []order.Lit) bool {
	for _, l := range ls {
		if !m.holds(l) {
			return false
		}
	}
	return true
}

func (m model) solves(p *order.Problem) bool {
	if !m.allHold(p.Require) {
		return false
	}
	for _, c := range p.Clauses {
		if !m.satisfies(c) {
			return false
		}
	}
	return true
}

// models enumerates all models of a problem without its assumptions: all
// interleavings of its chains with all values of its booleans.
func models(p *order.Problem) []model {
	var out []model
	var first []int
	n := 0
	for _, c := range p.Chains {
		first = append(first, n)
		n += c
	}
	done := make([]int, len(p.Chains))
	where := make([]int, n)
	bools := make([]bool, p.Bools)
	var place func(i int)
	place = func(i int) {
		if i == n {
			for b := range 1 << p.Bools {
				for k := range bools {
					bools[k] = b>>k&1 == 1
				}
				if (model{where, bools}).solves(p) {
					out = append(out, model{slices.Clone(where), slices.Clone(bools)})
				}
			}
			return
		}
		for c := range done {
			if done[c] < p.Chains[c] {
				where[first[c]+done[c]] = i
				done[c]++
				place(i + 1)
				done[c]--
			}
		}
	}
	place(0)
	return out
}

// interleavings returns the number of interleavings of chains.
func interleavings(chains []int) int {
	n, out := 0, 1
	for _, c := range chains {
		for k := 1; k <= c; k++ {
			n++
			out = out * n / k // exact: a product of binomial coefficients
		}
	}
	return out
}

// smallProblem returns a random problem with at most 9 nodes, and a chain that can have the goal,
// or -1.
func smallProblem(rng *rand.Rand) (p order.Problem, goal int) {
	for {
		p.Chains = p.Chains[:0]
		left := 2 + rng.IntN(8)
		for left > 0 {
			c := 1 + rng.IntN(min(left, 4))
			p.Chains = append(p.Chains, c)
			left -= c
		}
		if rng.IntN(8) == 0 {
			p.Chains = append(p.Chains, 0)
		}
		if len(p.Chains) > 1 && interleavings(p.Chains) <= 3000 {
			break
		}
	}
	p.Bools = rng.IntN(4)
	for range rng.IntN(3) {
		p.Require = append(p.Require, randomLit(rng, &p, false))
	}
	for range rng.IntN(4 + rng.IntN(16)) {
		p.Clauses = append(p.Clauses, randomClause(rng, &p))
	}
	return p, slices.Index(p.Chains, 1)
}

func randomClause(rng *rand.Rand, p *order.Problem) []order.Lit {
	var c []order.Lit
	for range 1 + min(rng.IntN(3), rng.IntN(20)) + rng.IntN(2) {
		c = append(c, randomLit(rng, p, true))
	}
	return c
}

func randomLit(rng *rand.Rand, p *order.Problem, bools bool) order.Lit {
	n := 0
	for _, c := range p.Chains {
		n += c
	}
	if bools && p.Bools > 0 && rng.IntN(4) == 0 {
		l := order.Bool(rng.IntN(p.Bools))
		if rng.IntN(2) == 0 {
			l = l.Not()
		}
		return l
	}
	a := order.Node(rng.IntN(n))
	b := order.Node(rng.IntN(n - 1))
	if b >= a {
		b++
	}
	return order.Lit{Before: a, After: b}
}
