package order

import "fmt"

// Option configures a Solver.
type Option func(*config) error

type config struct {
	sink         int // its chain, or -1
	conflicts    int64
	propagations int64
	restarts     int // conflicts of the shortest run; 0: never
	minimise     bool
	reduceAt     int // learned clauses before the first reduction; 0: never
}

var defaults = config{sink: -1, restarts: 64, minimise: true, reduceAt: 4000}

// Sink declares that a chain, of one node, is used to ask: it stands for the
// place in the order that a query is about, and clauses and assumptions place
// other nodes before or after it. Nothing is concluded through it (that what is
// before it precedes what is after it), only about it, which makes an edge from
// it cost next to nothing, while an edge from an ordinary node is followed into
// the rows of all that comes after. And nodes come after it unless there is a
// reason: clauses that hold if a node does are left alone until something needs
// that node to come before the sink. Answers do not change, only the time they
// take. There is at most one sink.
func Sink(chain int) Option {
	return func(c *config) error {
		if chain < 0 || c.sink >= 0 && c.sink != chain {
			return fmt.Errorf("order: chain %d as the sink: %w", chain, ErrOption)
		}
		c.sink = chain
		return nil
	}
}

// Budget bounds every Solve, as the Solver's method Budget does later.
func Budget(conflicts, propagations int64) Option {
	return func(c *config) error {
		c.conflicts, c.propagations = conflicts, propagations
		return nil
	}
}

// Restarts sets the unit of the Luby sequence of restarts, in conflicts; 0 means
// no restarts. The default is 64.
func Restarts(unit int) Option {
	return func(c *config) error {
		if unit < 0 {
			return fmt.Errorf("order: restarts after %d conflicts: %w", unit, ErrOption)
		}
		c.restarts = unit
		return nil
	}
}

// Minimise says whether learned clauses are minimised. The default is true.
func Minimise(on bool) Option {
	return func(c *config) error {
		c.minimise = on
		return nil
	}
}

// ReduceAt sets after how many learned clauses half of them, those that seem the
// least useful, are deleted for the first time; each time the number grows by a
// tenth. 0 means never. The default is 4000.
func ReduceAt(clauses int) Option {
	return func(c *config) error {
		if clauses < 0 {
			return fmt.Errorf("order: reduction at %d clauses: %w", clauses, ErrOption)
		}
		c.reduceAt = clauses
		return nil
	}
}
