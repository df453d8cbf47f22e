package racefuzz

import "github.com/heisen-go/heisen"

// WaitGroup models sync.WaitGroup. Each call is a step.
type WaitGroup struct {
	run    *run
	name   string
	number heisen.Object
	key    uint64
	count  int
}

// NewWaitGroup makes a wait group.
func (g *G) NewWaitGroup(name string) *WaitGroup {
	g.check()
	return &WaitGroup{run: g.run, name: name, number: g.run.object(name, 8), key: g.newKey()}
}

// Add adds to the counter. It panics if the counter would become negative.
func (w *WaitGroup) Add(g *G, delta int) { w.operate(g, op{code: opDone, value: delta}) }

// Done subtracts 1 from the counter.
func (w *WaitGroup) Done(g *G) { w.Add(g, -1) }

// Wait waits until the counter is 0.
func (w *WaitGroup) Wait(g *G) { w.operate(g, op{code: opWait}) }

func (w *WaitGroup) operate(g *G, x op) {
	g.own(w.run)
	x.w = w
	g.operate(x)
}

func (w *WaitGroup) add(g *G) {
	if w.count+g.op.value < 0 {
		g.fault = "negative count of wait group " + w.name
		g.run.negative = true
		return
	}
	w.count += g.op.value
	if g.op.value < 0 {
		g.emit(heisen.Send, w.number)
	} else {
		g.emit(heisen.Change, w.number)
	}
}
