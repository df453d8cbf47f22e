package racefuzz

import (
	"errors"

	"github.com/heisen-go/heisen/internal/dpor"
)

// ErrCutOff is the error of a DPOR that has made all executions it could, but cut off some of them at
// the step limit.
var ErrCutOff = errors.New("executions were cut off at the step limit")

// DPOR is a Strategy that enumerates the executions of a program with dynamic partial-order reduction:
// it makes one of each class of equivalent executions. Two executions are equivalent if one becomes
// the other by exchanging neighboring steps of different goroutines that commute: steps on different
// objects, reads of a variable, RLocks of a lock, and Adds of a WaitGroup by numbers of the same sign.
// It ignores the seed, and it also enumerates the random numbers that the program draws.
//
//	for d := racefuzz.NewDPOR(); d.More(); {
//		result, err := racefuzz.Run(ctx, program, d, 0)
//		...
//	}
//
// Guarantee: when More returns false and Err returns nil, an execution of each class was made. So each
// outcome, message, deadlock and final state of the program's objects has occurred. Goroutines must
// share state by objects of the model only. DPOR must be the Strategy of Run itself, not wrapped in
// another one.
//
// Executions counts the classes. A few executions more may be made, of a class that was made before;
// Repeated counts them. Their number and the time for an execution depend on the program, see package
// documentation of internal/dpor.
//
// The zero DPOR is ready to use.
type DPOR struct {
	explorer *dpor.Explorer
	run      *run // the current execution
	uses     []dpor.Use
	blocking bool
	joined   int
	cutOff   bool
	// strict means that no Adds of a WaitGroup commute. It is set when a count has become negative: which
	// Add panics depends on their order.
	strict             bool
	executed, repeated int // before it was set
}

// NewDPOR returns a DPOR that has made no execution.
func NewDPOR() *DPOR { return &DPOR{} }

// More reports whether an execution is left. Call it before each Run.
func (d *DPOR) More() bool { return d.explorer == nil || d.explorer.More() }

// Err returns, when More has returned false, nil if all classes of executions were made, an error that wraps
// ErrNondeterministic if the program depends on more than the choices, or ErrCutOff.
func (d *DPOR) Err() error {
	switch {
	case d.explorer != nil && d.explorer.Err() != nil:
		return ErrNondeterministic
	case d.cutOff:
		return ErrCutOff
	}
	return nil
}

// Executions returns the number of executions that were made, without repeated ones.
func (d *DPOR) Executions() int {
	if d.explorer == nil {
		return 0
	}
	return d.executed + d.explorer.Executions()
}

// Repeated returns the number of executions that turned out, before their end, to be equivalent to an
// earlier one.
func (d *DPOR) Repeated() int {
	if d.explorer == nil {
		return 0
	}
	return d.repeated + d.explorer.Repeated()
}

// Start implements Strategy.
func (d *DPOR) Start(uint64) {
	if d.explorer == nil {
		d.explorer = &dpor.Explorer{}
	}
	d.run = nil
	d.explorer.Start()
}

// Next implements Strategy. Only Run may call it.
func (d *DPOR) Next(tasks []Task, running uint32) int {
	if d.run == nil {
		return -1 // Run returns ErrStrategy
	}
	enabled := make([]uint32, len(tasks))
	for i := range tasks {
		enabled[i] = tasks[i].ID
	}
	i := d.explorer.Choose(enabled, running)
	x := &d.run.gs[tasks[i].ID].op
	d.uses, d.blocking = x.uses(d.strict)
	if d.joined = 0; x.code == opJoin {
		d.joined = int(x.g.ended)
	}
	return i
}

// Random implements Strategy.
func (d *DPOR) Random(n uint64) uint64 {
	if d.explorer == nil {
		return 0
	}
	return d.explorer.Draw(n)
}

// String returns the strategy's name.
func (d *DPOR) String() string { return "dpor" }

// did is called after the chosen step. since is when its goroutine had arrived at it.
func (d *DPOR) did(g *G, since uint64) {
	if d.run.result.Outcome != 0 { // no other goroutine can continue
		d.uses = append(d.uses, dpor.Use{Object: dpor.Everything})
	}
	d.explorer.Did(dpor.Step{Task: g.id, Since: int(since), Joined: d.joined, Uses: d.uses, Blocking: d.blocking})
}

// end is called at the end of the execution.
func (d *DPOR) end() {
	r := d.run
	d.cutOff = d.cutOff || r.result.Outcome == CutOff
	var pending []dpor.Step
	for _, g := range r.alive {
		if !g.returned && !g.queued {
			uses, blocking := g.op.uses(d.strict)
			pending = append(pending, dpor.Step{Task: g.id, Since: int(g.task.Since), Uses: uses, Blocking: blocking})
		}
	}
	d.explorer.End(pending)
	if r.negative && !d.strict {
		d.strict = true
		d.executed, d.repeated = d.Executions(), d.Repeated()
		d.explorer = &dpor.Explorer{}
	}
}

// The key of an object tells it from others in all executions with the same classes of prefixes, while
// its number depends on the order in which goroutines make objects.
const (
	creationKey = iota // of the numbers of goroutines
	firstKey
)

// newKey returns the key of an object that g makes.
func (g *G) newKey() uint64 {
	g.made++
	return g.key + g.made
}

// keyOf returns the key of a goroutine. Those of the objects that it makes follow.
func keyOf(id uint32) uint64 { return (uint64(id) + firstKey) << 32 }

// uses returns what the operation uses, and whether its goroutine may have to wait before it.
func (x *op) uses(strict bool) (uses []dpor.Use, blocking bool) {
	one := func(object uint64, mode dpor.Mode) []dpor.Use { return []dpor.Use{{Object: object, Mode: mode}} }
	switch x.code {
	case opGo:
		return one(creationKey, dpor.Write), false
	case opRead, opLoad:
		return one(x.v.key, dpor.Read), false
	case opCompareAndSwap:
		if x.v.value != x.old { // it only reads, as long as nothing changes the variable
			return one(x.v.key, dpor.Read), false
		}
		return one(x.v.key, dpor.Write), false
	case opWrite, opStore, opAdd:
		return one(x.v.key, dpor.Write), false
	case opLock:
		return one(x.l.key, dpor.Write), true
	case opRLock:
		return one(x.l.key, dpor.Read), true
	case opUnlock, opRUnlock:
		return one(x.l.key, dpor.Write), false
	case opSend, opReceive:
		return one(x.c.key, dpor.Write), true
	case opTryReceive, opClose:
		return one(x.c.key, dpor.Write), false
	case opReceiveAny:
		for _, c := range x.any {
			uses = append(uses, dpor.Use{Object: c.key})
		}
		return uses, true
	case opWait:
		return one(x.w.key, dpor.Read), true
	case opDone:
		switch {
		case strict:
			return one(x.w.key, dpor.Write), false
		case x.value < 0:
			return one(x.w.key, dpor.Lower), false
		}
		return one(x.w.key, dpor.Raise), false
	}
	return nil, false // it yields, or joins another one
}
