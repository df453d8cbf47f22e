package order

import (
	"bufio"
	"fmt"
	"io"
)

// Problem is a question as data: what one would tell a Solver. It is for
// exchange with other solvers and for tests.
type Problem struct {
	Chains  []int
	Bools   int     // the literals of NewBool, in the order in which it returns them
	Require []Lit   // edges
	Clauses [][]Lit // each with at least one literal that holds
	Assume  []Lit
}

// Bool returns the positive literal of the k-th boolean, from 0, that NewBool
// returns.
func Bool(k int) Lit { return Lit{Node(-1 - 2*k), Node(-2 - 2*k)} }

// Solver returns a Solver that was told everything but the assumptions.
func (p *Problem) Solver(opts ...Option) (*Solver, error) {
	if p == nil {
		p = &Problem{}
	}
	s, err := NewSolver(p.Chains, opts...)
	if err != nil {
		return nil, err
	}
	for range p.Bools {
		s.NewBool()
	}
	for i, e := range p.Require {
		if err := s.valid(e); err != nil || e.Before < 0 {
			return nil, fmt.Errorf("order: edge %d from %d to %d: %w", i, e.Before, e.After, ErrNode)
		}
		s.Require(e.Before, e.After)
	}
	for i, c := range p.Clauses {
		if err := s.Add(c...); err != nil {
			return nil, fmt.Errorf("clause %d: %w", i, err)
		}
	}
	return s, nil
}

// WriteSMTLIB writes the problem in SMT-LIB 2, in the logic QF_IDL: an integer
// per node, literals as strict inequalities. Two integers that nothing compares
// may be equal in a model; as no literal asks for equality, any order of such
// nodes then satisfies the problem, so that sat is Yes and unsat is No. Nothing is
// simplified, and nothing of this package's search takes part.
func (p *Problem) WriteSMTLIB(w io.Writer) error {
	if p == nil {
		p = &Problem{}
	}
	b := bufio.NewWriter(w)
	b.WriteString("(set-logic QF_IDL)\n")
	n := 0
	for _, length := range p.Chains {
		for i := range length {
			fmt.Fprintf(b, "(declare-fun n%d () Int)\n", n)
			if i > 0 {
				fmt.Fprintf(b, "(assert (< n%d n%d))\n", n-1, n)
			}
			n++
		}
	}
	for k := range p.Bools {
		fmt.Fprintf(b, "(declare-fun b%d () Bool)\n", k)
	}
	for _, l := range p.Require {
		b.WriteString("(assert ")
		writeLit(b, l)
		b.WriteString(")\n")
	}
	for _, c := range p.Clauses {
		switch len(c) {
		case 0:
			b.WriteString("(assert false)\n")
			continue
		case 1:
			b.WriteString("(assert ")
			writeLit(b, c[0])
		default:
			b.WriteString("(assert (or")
			for _, l := range c {
				b.WriteByte(' ')
				writeLit(b, l)
			}
			b.WriteByte(')')
		}
		b.WriteString(")\n")
	}
	for _, l := range p.Assume {
		b.WriteString("(assert ")
		writeLit(b, l)
		b.WriteString(")\n")
	}
	b.WriteString("(check-sat)\n")
	return b.Flush()
}

func writeLit(b *bufio.Writer, l Lit) {
	switch {
	case l.Before >= 0:
		fmt.Fprintf(b, "(< n%d n%d)", l.Before, l.After)
	case l.Before > l.After:
		fmt.Fprintf(b, "b%d", (-1-l.Before)/2)
	default:
		fmt.Fprintf(b, "(not b%d)", (-1-l.After)/2)
	}
}
