package order

import "github.com/heisen-go/heisen/internal/option"

// Option configures a Solver; see NewSolver.
type Option func(*config) error

type config struct {
	goal         int // chain of the goal node, -1 if there is none
	conflicts    int64
	propagations int64
	restarts     int // conflicts of the shortest run; 0: never
	minimize     bool
	reduceAt     int // learned clauses before the first reduction; 0: never
}

var defaults = config{goal: -1, restarts: 64, minimize: true, reduceAt: 4000}

// WithGoalChain declares the node of a chain of length 1 as the goal: the node that queries are
// about. Clauses and assumptions place other nodes before or after it. A solver has at most one
// goal node.
//
// Constraints of AddRead and AddLock apply only to nodes before the goal. For edges and clauses the
// option does not change results, only the time that they take. The solver does not propagate an
// order of two other nodes through the goal (x before goal, goal before y, hence x before y), so an
// edge at the goal costs little. And a node comes after the goal unless something requires the
// contrary, so a query touches only the nodes that have to come before the goal.
func WithGoalChain(chain int) Option {
	return func(c *config) error {
		if chain < 0 {
			return option.Errorf("WithGoalChain: chain %d, want at least 0", chain)
		}
		if c.goal >= 0 && c.goal != chain {
			return option.Errorf("WithGoalChain: chain %d, but chain %d has the goal already", chain, c.goal)
		}
		c.goal = chain
		return nil
	}
}

// WithBudget bounds the conflicts and the propagations of every Solve. Values below 1 mean no
// bound, which is the default. Solver.SetBudget changes the bounds later.
func WithBudget(conflicts, propagations int64) Option {
	return func(c *config) error {
		c.conflicts, c.propagations = conflicts, propagations
		return nil
	}
}

// WithRestarts sets the unit of the Luby sequence of restarts, in conflicts. 0 means no restarts.
// The default is 64.
func WithRestarts(unit int) Option {
	return func(c *config) error {
		if unit < 0 {
			return option.Errorf("WithRestarts: unit of %d conflicts, want at least 0", unit)
		}
		c.restarts = unit
		return nil
	}
}

// WithMinimization sets whether learned clauses are minimized. The default is true.
func WithMinimization(on bool) Option {
	return func(c *config) error {
		c.minimize = on
		return nil
	}
}

// WithReduction sets the number of learned clauses at which the solver first deletes half of them:
// those with the highest LBD, the oldest first. The number grows by a tenth with each reduction. 0
// means that learned clauses are never deleted. The default is 4000.
func WithReduction(clauses int) Option {
	return func(c *config) error {
		if clauses < 0 {
			return option.Errorf("WithReduction: %d clauses, want at least 0", clauses)
		}
		c.reduceAt = clauses
		return nil
	}
}
