package racefuzz

import "errors"

// ErrNondeterministic is the error of an Exhaustive whose program behaved differently in two
// executions with the same choices.
var ErrNondeterministic = errors.New("the program depends on more than the choices")

// Exhaustive is a Strategy that enumerates all executions of a program, depth first, each once. It
// ignores the seed, and it also enumerates the random numbers that the program draws.
//
//	for e := racefuzz.NewExhaustive(); e.More(); {
//		result, err := racefuzz.Run(ctx, program, e, 0)
//		...
//	}
//
// Guarantee: when More returns false and Err returns nil, every execution with at most as many
// steps as Run's limit was made, and every prefix of that length of longer ones. The number of
// executions is exponential in the number of steps. Memory is a few bytes for each step of the
// longest execution.
//
// The zero Exhaustive is ready to use.
type Exhaustive struct {
	path []branch // the choices of the current execution
	at   int      // index of its next choice
	runs int
	err  error
}

// branch is a choice of one of several options.
type branch struct{ taken, of uint64 }

// NewExhaustive returns an Exhaustive that has made no execution.
func NewExhaustive() *Exhaustive { return &Exhaustive{} }

// More reports whether an execution is left. Call it before each Run.
func (e *Exhaustive) More() bool {
	if e.runs == 0 {
		return true
	}
	if e.err == nil && e.at < len(e.path) {
		e.err = ErrNondeterministic
	}
	return e.err == nil && e.lastOpen() >= 0
}

// lastOpen returns the index of the last branch with an option that was not taken, or -1.
func (e *Exhaustive) lastOpen() int {
	for i := len(e.path) - 1; i >= 0; i-- {
		if e.path[i].taken+1 < e.path[i].of {
			return i
		}
	}
	return -1
}

// Err returns ErrNondeterministic if More returned false for that reason, else nil.
func (e *Exhaustive) Err() error {
	return e.err
}

// Start implements Strategy. It advances to the next execution. After the last one it starts again
// with the first.
func (e *Exhaustive) Start(uint64) {
	if e.runs++; e.runs > 1 {
		i := e.lastOpen()
		e.path = e.path[:i+1]
		if i >= 0 {
			e.path[i].taken++
		}
	}
	e.at = 0
}

// Next implements Strategy.
func (e *Exhaustive) Next(tasks []Task, _ uint32) int {
	return int(e.branch(uint64(len(tasks))))
}

// Random implements Strategy.
func (e *Exhaustive) Random(n uint64) uint64 {
	return e.branch(n)
}

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
		e.err = ErrNondeterministic
		return 0
	}
	return b.taken
}

// String returns the strategy's name.
func (e *Exhaustive) String() string { return "exhaustive" }
