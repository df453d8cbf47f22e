package racefuzz

import "errors"

// ErrIrregular is the error of an Exhaustive whose program did not do the same when it
// was chosen the same.
var ErrIrregular = errors.New("racefuzz: the program depends on more than the choices")

// Exhaustive makes all executions of a program, each once, depth first. The seed plays
// no part; numbers that the program draws at random are enumerated too.
//
//	for e := racefuzz.NewExhaustive(); e.More(); {
//		result, err := racefuzz.Run(ctx, program, e, 0)
//		...
//	}
//
// Promise: when More returns false and Err nil, every execution has been made that has
// no more steps than the limit of Run; of longer ones, each beginning of so many steps.
// There are exponentially many. Memory is a few bytes for each step of the longest.
type Exhaustive struct {
	path []branch
	at   int // what comes next of path
	runs int
	err  error
}

// branch is a choice out of several.
type branch struct{ taken, of uint64 }

// NewExhaustive returns one that has made no execution.
func NewExhaustive() *Exhaustive { return &Exhaustive{} }

// More reports whether there is an execution that has not been made. It is asked before
// each.
func (e *Exhaustive) More() bool {
	if e.runs == 0 {
		return true
	}
	if e.err == nil && e.at < len(e.path) {
		e.err = ErrIrregular
	}
	return e.err == nil && e.last() >= 0
}

// last returns the index of the last branch with something left to take, or -1.
func (e *Exhaustive) last() int {
	for i := len(e.path) - 1; i >= 0; i-- {
		if e.path[i].taken+1 < e.path[i].of {
			return i
		}
	}
	return -1
}

// Err returns ErrIrregular if that is why there are no more executions.
func (e *Exhaustive) Err() error { return e.err }

// Start implements Strategy: it goes over to the next execution. After the last comes
// the first again.
func (e *Exhaustive) Start(uint64) {
	if e.runs++; e.runs > 1 {
		i := e.last()
		e.path = e.path[:i+1]
		if i >= 0 {
			e.path[i].taken++
		}
	}
	e.at = 0
}

// Next implements Strategy.
func (e *Exhaustive) Next(tasks []Task, _ uint32) int { return int(e.branch(uint64(len(tasks)))) }

// Random implements Strategy.
func (e *Exhaustive) Random(n uint64) uint64 { return e.branch(n) }

func (e *Exhaustive) branch(of uint64) uint64 {
	if of == 1 {
		return 0
	}
	if e.at == len(e.path) {
		e.path = append(e.path, branch{of: of})
	}
	b := &e.path[e.at]
	e.at++
	if b.of != of {
		e.err = ErrIrregular
		return 0
	}
	return b.taken
}

// String returns the strategy's name.
func (e *Exhaustive) String() string { return "exhaustive" }
