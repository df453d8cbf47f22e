package racefuzz

import (
	"fmt"

	"github.com/heisen-go/heisen"
)

// G is a goroutine of a model. It stands for the goroutine in every operation: x.Read(g) is a read
// by g. Run and G.Go pass a G to the function that the goroutine runs, and only that function may
// use it. Wrong use of a G or of an object panics where Run can notice it; like any panic, that is an
// outcome of the execution. Run does not notice that a goroutine which G.Go did not start uses a G:
// such operations count as those of the G, and the execution may not be repeatable.
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
	key       uint64 // see newKey
	made      uint64 // objects that it has made
	ended     uint64 // steps that there were when it returned
	fault     any    // value that the current operation panics with
	queued    bool   // another goroutine completes the current operation
	returned  bool
	unwinding bool
}

// unwound is the value that a goroutine panics with when its execution is cut off.
type unwound struct{}

// Error implements error.
func (unwound) Error() string {
	return "racefuzz: the execution has ended, and its goroutines are unwound"
}

// body is the coroutine of the goroutine.
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

// operate makes an operation. It returns when the strategy has chosen the goroutine and the
// operation is done.
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

// check panics with a clear message if g is not a goroutine of an execution.
func (g *G) check() {
	if g == nil || g.run == nil {
		panic("racefuzz: a G that comes neither from Run nor from G.Go")
	}
	if g.run.over {
		panic("racefuzz: goroutine " + g.name + " is used after its execution")
	}
}

// own panics unless the object belongs to g's execution, which is r.
func (g *G) own(r *run) {
	g.check()
	switch {
	case r == nil:
		panic("racefuzz: goroutine " + g.name + " uses an object that no method of G made")
	case g.run != r:
		panic("racefuzz: goroutine " + g.name + " uses an object of another execution")
	}
}

// ID returns the number of the goroutine, from 0 in order of creation. It is also the ID of its
// Task and its heisen.Thread.
func (g *G) ID() uint32 {
	g.check()
	return g.id
}

// At names the place of the goroutine's next operation and returns g:
//
//	x.Write(g.At("bank.go:31"), 1)
func (g *G) At(place string) *G {
	g.check()
	g.site = g.run.site(place)
	return g
}

// Go starts a goroutine and returns it, for Join. It is a step.
func (g *G) Go(name string, program Program) *G {
	g.check()
	if program == nil {
		panic("racefuzz: goroutine " + g.name + " starts a nil Program")
	}
	g.operate(op{code: opGo, name: name, program: program})
	return g.op.g
}

// Join waits until another goroutine has returned. It is a step.
func (g *G) Join(other *G) {
	other.check()
	g.own(other.run)
	g.operate(op{code: opJoin, g: other})
}

// Yield gives way to other goroutines. It is a step.
func (g *G) Yield() {
	g.check()
	g.operate(op{code: opYield})
}

// Random returns a number below n from the strategy. n must be at least 1. It is not a step.
func (g *G) Random(n int) int {
	g.check()
	if n < 1 {
		panic(fmt.Sprintf("racefuzz: Random(%d), want at least 1", n))
	}
	if g.unwinding {
		panic(unwound{})
	}
	return int(g.run.strategy.Random(uint64(n)))
}

// Assert ends the execution with the outcome Failed if ok is false. The message is formatted as by
// fmt.Sprintf. It is not a step.
func (g *G) Assert(ok bool, format string, args ...any) {
	g.check()
	if ok || g.unwinding {
		return
	}
	if r := g.run.result; r.Outcome == 0 {
		r.Outcome, r.Message, r.Culprit = Failed, fmt.Sprintf(format, args...), g.id
	}
	g.unwinding = true
	panic(unwound{})
}

// place returns the name of the place of the goroutine's operation, or the empty string.
func (g *G) place() string {
	if g.op.site == 0 {
		return ""
	}
	return g.run.result.Symbols.Site(g.op.site).String()
}

// emit passes an event of the goroutine's operation to the detector.
func (g *G) emit(code heisen.Op, o heisen.Object) {
	g.run.emit(g, heisen.Record{Op: code, Object: o, Site: g.op.site})
}

// access passes an access to a variable and its value to the detector.
func (g *G) access(code heisen.Op, v *Var, value int) {
	g.run.emit(g, heisen.Record{Op: code, Object: v.number, Site: g.op.site, Len: wordSize,
		Value: uint64(value), Flags: heisen.HasValue})
}
