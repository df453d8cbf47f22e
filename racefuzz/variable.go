package racefuzz

import "github.com/heisen-go/heisen"

// wordSize is the size of a variable in bytes.
const wordSize = 8

// Var is a shared integer variable, initially 0. Read and Write are plain accesses, which can race.
// The other methods are atomic accesses. Each call is a step.
type Var struct {
	run    *run
	name   string
	number heisen.Object
	key    uint64
	value  int
}

// NewVar makes a variable. It is not a step; nor are the other constructors of objects.
func (g *G) NewVar(name string) *Var {
	g.check()
	return &Var{run: g.run, name: name, number: g.run.object(name, wordSize), key: g.newKey()}
}

// Read returns the value, with a plain access.
func (v *Var) Read(g *G) int { return v.operate(g, op{code: opRead}).value }

// Write sets the value, with a plain access.
func (v *Var) Write(g *G, value int) { v.operate(g, op{code: opWrite, value: value}) }

// Load returns the value atomically.
func (v *Var) Load(g *G) int { return v.operate(g, op{code: opLoad}).value }

// Store sets the value atomically.
func (v *Var) Store(g *G, value int) { v.operate(g, op{code: opStore, value: value}) }

// Add adds to the value atomically and returns the sum.
func (v *Var) Add(g *G, delta int) int { return v.operate(g, op{code: opAdd, value: delta}).value }

// CompareAndSwap atomically sets the value if it is old. It reports whether it was.
func (v *Var) CompareAndSwap(g *G, old, value int) bool {
	return v.operate(g, op{code: opCompareAndSwap, old: old, value: value}).ok
}

func (v *Var) operate(g *G, x op) *op {
	g.own(v.run)
	x.v = v
	g.operate(x)
	return &g.op
}
