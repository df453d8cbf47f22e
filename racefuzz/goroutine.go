package racefuzz

import (
	"fmt"

	"github.com/heisen-go/heisen"
)

// G is a goroutine of a model. It is handed to the function that the goroutine runs,
// and only that may use it: an operation by a goroutine is a call with its G. Wrong use
// panics, which is an outcome of the execution like any panic.
type G struct {
	run     *run
	id      uint32
	name    string
	program Program

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	task      Task
	op        op
	site      heisen.Site // of the next operation
	held      []*lock
	fault     any  // what the operation made panics with
	queued    bool // its operation is for another to complete
	returned  bool
	unwinding bool
}

// unwound is what a goroutine panics with that is cut off.
type unwound struct{}

// body is the coroutine.
func (g *G) body(yield func(struct{}) bool) {
	g.yield = yield
	defer func() {
		x := recover()
		if r := g.run.result; x != nil && !g.unwinding && r.Outcome == 0 {
			r.Outcome, r.Panic, r.Culprit = Panicked, x, g.id
			r.Message = fmt.Sprint(x)
		}
	}()
	g.program(g)
}

// operate makes an operation: it waits until it is chosen and done.
func (g *G) operate(x op) {
	switch {
	case g.unwinding:
		panic(unwound{})
	case g.run.current == nil:
		panic("racefuzz: goroutine " + g.name + " is used outside of its execution")
	case g.run.current != g:
		panic("racefuzz: goroutine " + g.name + " is used by " + g.run.current.name)
	}
	x.site, g.site = g.site, 0
	g.op = x
	x.task(&g.task)
	g.task.Roles, g.task.Place = g.run.roles[x.site], uint32(x.site)
	if !g.yield(struct{}{}) {
		g.unwinding = true
		panic(unwound{})
	}
	if fault := g.fault; fault != nil {
		g.fault = nil
		panic(fault)
	}
}

// ID returns the goroutine's number: dense, in order of creation, 0 for the first. It
// is the ID of its Task and its heisen.Thread.
func (g *G) ID() uint32 { return g.id }

// At names the place of the goroutine's next operation and returns g:
//
//	x.Write(g.At("bank.go:31"), 1)
func (g *G) At(place string) *G {
	g.site = g.run.site(place)
	return g
}

// Go starts a goroutine and returns it, for Join.
func (g *G) Go(name string, program Program) *G {
	g.operate(op{code: opGo, name: name, program: program})
	return g.op.g
}

// Join waits until another goroutine has returned.
func (g *G) Join(other *G) {
	g.own(other.run)
	g.operate(op{code: opJoin, g: other})
}

// Yield gives way to others.
func (g *G) Yield() { g.operate(op{code: opYield}) }

// Random returns a number below n, which has to be at least 1, from the strategy. It is
// no step.
func (g *G) Random(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("racefuzz: a random number below %d", n))
	}
	if g.unwinding {
		panic(unwound{})
	}
	return int(g.run.strategy.Random(uint64(n)))
}

// Assert ends the execution with the outcome Failed unless ok. It is no step.
func (g *G) Assert(ok bool, format string, arguments ...any) {
	if ok || g.unwinding {
		return
	}
	if r := g.run.result; r.Outcome == 0 {
		r.Outcome, r.Message, r.Culprit = Failed, fmt.Sprintf(format, arguments...), g.id
	}
	g.unwinding = true
	panic(unwound{})
}

// own checks that what is used is of the goroutine's execution.
func (g *G) own(r *run) {
	if g.run != r {
		panic("racefuzz: goroutine " + g.name + " uses what belongs to another execution")
	}
}

func (g *G) place() string {
	if g.op.site == 0 {
		return ""
	}
	return g.run.result.Symbols.Site(g.op.site).String()
}

// emit hands out an event at the place of the goroutine's operation.
func (g *G) emit(code heisen.Op, o heisen.Object) {
	g.run.emit(g, heisen.Record{Op: code, Object: o, Site: g.op.site})
}

// access hands out an access to a variable and its value.
func (g *G) access(code heisen.Op, v *Var, value int) {
	g.run.emit(g, heisen.Record{Op: code, Object: v.number, Site: g.op.site, Len: wordSize,
		Value: uint64(value), Flags: heisen.HasValue})
}
