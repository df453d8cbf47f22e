package order

import (
	"bufio"
	"fmt"
	"io"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Problem is a problem as data: what one would add to a Solver. It serves the exchange with other
// solvers, and tests.
type Problem struct {
	Chains  []int
	Bools   int     // number of booleans; see Bool
	Require []Lit   // required edges
	Clauses [][]Lit // at least one literal of each holds
	Assume  []Lit
}

// Bool returns the positive literal of boolean k, from 0: what the k-th call of NewBool returns.
func Bool(k int) Lit { return Lit{Node(-1 - 2*k), Node(-2 - 2*k)} }

// Solver returns a new Solver with the chains, booleans, edges and clauses of the problem. The
// assumptions are for Solve. The errors are those of NewSolver, Require and Add; a negative number of
// booleans is an error that wraps heisen.ErrOption.
func (p *Problem) Solver(opts ...Option) (*Solver, error) {
	if err := p.checkBools(); err != nil {
		return nil, fmt.Errorf("order.Problem.Solver: %w", err)
	}
	s, err := NewSolver(p.Chains, opts...)
	if err != nil {
		return nil, err
	}
	for range p.Bools {
		s.NewBool()
	}
	for i, e := range p.Require {
		if err := s.Require(e.Before, e.After); err != nil {
			return nil, fmt.Errorf("edge %d: %w", i, err)
		}
	}
	for i, c := range p.Clauses {
		if err := s.Add(c...); err != nil {
			return nil, fmt.Errorf("clause %d: %w", i, err)
		}
	}
	return s, nil
}

// WriteSMTLIB writes the problem, with its assumptions as assertions, in SMT-LIB 2 with the logic
// QF_IDL: an integer per node, and strict inequalities for literals. In a model, two integers that
// no literal compares may be equal. No literal asks for equality, so any order of such nodes
// satisfies the problem. Hence sat corresponds to Sat and unsat to Unsat. The text is a direct
// translation that uses nothing of the solver. The error is that of w. If w is nil, or the problem
// has a wrong chain, number of booleans or literal, nothing is written, and the error wraps
// heisen.ErrOption, ErrSize or ErrNode.
func (p *Problem) WriteSMTLIB(w io.Writer) error {
	if w == nil {
		return fmt.Errorf("order.Problem.WriteSMTLIB: %w: the writer is nil", heisen.ErrOption)
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("order.Problem.WriteSMTLIB: %w", err)
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

// check returns what is wrong with the problem.
func (p *Problem) check() error {
	if err := p.checkBools(); err != nil {
		return err
	}
	nodes, err := countNodes(p.Chains)
	if err != nil {
		return err
	}
	lists := append([][]Lit{p.Require, p.Assume}, p.Clauses...)
	for i, list := range lists {
		for _, l := range list {
			if i == 0 && l.Before < 0 {
				return fmt.Errorf("edge %v: %w", l, ErrNode)
			}
			if err := l.check(nodes, p.Bools); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkBools returns an error for a number of booleans that there cannot be.
func (p *Problem) checkBools() error {
	if p.Bools < 0 {
		return option.Errorf("%d booleans, want at least 0", p.Bools)
	}
	return nil
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
