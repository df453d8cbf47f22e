package racefuzz

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// op is an operation that a goroutine is about to make, or has made.
type op struct {
	code opCode
	site heisen.Site

	v          *Var
	l          *lock
	c          *Chan
	any        []*Chan
	w          *WaitGroup
	g          *G // to join, or started
	value, old int
	index      int  // of the channel received from
	received   bool // from it, at all
	ok         bool
	message    heisen.Object // sent without a buffer

	name    string // of the goroutine to start
	program Program
}

type opCode uint8

const (
	opGo opCode = iota
	opJoin
	opYield
	opRead
	opWrite
	opLoad
	opStore
	opAdd
	opCompareAndSwap
	opLock
	opUnlock
	opRLock
	opRUnlock
	opSend
	opReceive
	opTryReceive
	opReceiveAny
	opClose
	opDone
	opWait
)

var opNames = [...]string{
	opGo: "go", opJoin: "join", opYield: "yield", opRead: "read", opWrite: "write",
	opLoad: "load", opStore: "store", opAdd: "add", opCompareAndSwap: "compare and swap",
	opLock: "lock", opUnlock: "unlock", opRLock: "read-lock", opRUnlock: "read-unlock",
	opSend: "send to", opReceive: "receive from", opTryReceive: "try to receive from",
	opReceiveAny: "receive from any of", opClose: "close", opDone: "add to", opWait: "wait",
}

func (c opCode) String() string { return opNames[c] }

// task says in t what the operation is to a strategy.
func (x *op) task(t *Task) {
	t.Write, t.Atomic, t.Addr, t.Size = false, false, 0, 0
	switch x.code {
	case opRead, opWrite, opLoad, opStore, opAdd, opCompareAndSwap:
		t.Kind = Access
		t.Write = x.code != opRead && x.code != opLoad
		t.Atomic = x.code != opRead && x.code != opWrite
		t.Addr, t.Size = uint64(x.v.number), wordSize
	case opLock, opRLock:
		t.Kind = Lock
		t.Addr = uint64(x.l.number)
	case opYield:
		t.Kind = Yield
	default:
		t.Kind = Sync
	}
}

// object names what the operation is made to.
func (x *op) object() string {
	switch {
	case x.v != nil:
		return x.v.name
	case x.l != nil:
		return x.l.name
	case x.c != nil:
		return x.c.name
	case x.code == opReceiveAny:
		var names []string
		for _, c := range x.any {
			names = append(names, c.name)
		}
		return strings.Join(names, ", ")
	case x.w != nil:
		return x.w.name
	case x.g != nil:
		return x.g.name
	}
	return ""
}

// can reports whether g can make the operation as things are.
func (x *op) can(g *G) bool {
	switch x.code {
	case opJoin:
		return x.g.returned
	case opLock, opRLock:
		return x.l.writer == nil
	case opSend:
		return x.c.closed || x.c.capacity == 0 || len(x.c.buffer) < x.c.capacity
	case opReceive:
		return x.c.ready()
	case opReceiveAny:
		return slices.ContainsFunc(x.any, (*Chan).ready)
	case opWait:
		return x.w.count == 0
	case opCompareAndSwap:
		g.task.Write = x.v.value == x.old // if it is made now
	}
	return true
}

// do makes g's operation.
func (x *op) do(g *G) {
	switch x.code {
	case opGo:
		x.g = g.run.start(x.name, g, x.program)
	case opJoin:
		g.emit(heisen.Join, heisen.Object(x.g.id))
	case opRead:
		x.value = x.v.value
		g.access(heisen.Read, x.v, x.value)
	case opWrite:
		g.access(heisen.Write, x.v, x.value)
		x.v.value = x.value
	case opLoad:
		x.value = x.v.value
		g.access(heisen.AtomicRead, x.v, x.value)
	case opStore:
		g.access(heisen.AtomicWrite, x.v, x.value)
		x.v.value = x.value
	case opAdd:
		x.value += x.v.value
		g.access(heisen.AtomicUpdate, x.v, x.value)
		x.v.value = x.value
	case opCompareAndSwap:
		if x.ok = x.v.value == x.old; x.ok {
			g.access(heisen.AtomicUpdate, x.v, x.value)
			x.v.value = x.value
		} else {
			g.access(heisen.AtomicRead, x.v, x.v.value)
		}
	case opLock:
		x.l.lock(g)
	case opUnlock:
		x.l.unlock(g)
	case opRLock:
		x.l.readers++
		g.held = append(g.held, x.l)
		g.emit(heisen.AcquireShared, x.l.number)
	case opRUnlock:
		x.l.runlock(g)
	case opSend:
		x.c.send(g)
	case opReceive:
		x.c.receive(g)
	case opTryReceive:
		if x.received = x.c.ready(); x.received {
			x.c.receive(g)
		} else {
			x.c.look(g)
		}
	case opReceiveAny:
		receiveAny(g)
	case opClose:
		x.c.close(g)
	case opDone:
		x.w.add(g)
	case opWait:
		g.emit(heisen.Receive, x.w.number)
	}
}

// wordSize is how many bytes a variable has.
const wordSize = 8

// Var is a variable, 0 at first. Read and Write are plain accesses, which can race, the
// others atomic ones. Each is a step.
type Var struct {
	run    *run
	name   string
	number heisen.Object
	value  int
}

// NewVar makes a variable. It is no step, as with the other objects.
func (g *G) NewVar(name string) *Var {
	return &Var{run: g.run, name: name, number: g.run.object(name, wordSize)}
}

// Read returns the value.
func (v *Var) Read(g *G) int { return v.operate(g, op{code: opRead}).value }

// Write sets the value.
func (v *Var) Write(g *G, value int) { v.operate(g, op{code: opWrite, value: value}) }

// Load returns the value atomically.
func (v *Var) Load(g *G) int { return v.operate(g, op{code: opLoad}).value }

// Store sets the value atomically.
func (v *Var) Store(g *G, value int) { v.operate(g, op{code: opStore, value: value}) }

// Add adds to the value atomically and returns the sum.
func (v *Var) Add(g *G, delta int) int { return v.operate(g, op{code: opAdd, value: delta}).value }

// CompareAndSwap sets the value to another atomically if it is old, and reports whether
// it was.
func (v *Var) CompareAndSwap(g *G, old, value int) bool {
	return v.operate(g, op{code: opCompareAndSwap, old: old, value: value}).ok
}

func (v *Var) operate(g *G, x op) *op {
	g.own(v.run)
	x.v = v
	g.operate(x)
	return &g.op
}

// Mutex is a sync.Mutex. Each call is a step.
type Mutex struct{ lock }

// NewMutex makes a mutex.
func (g *G) NewMutex(name string) *Mutex { return &Mutex{g.newLock(name)} }

// Lock takes the mutex when nobody has it.
func (m *Mutex) Lock(g *G) { m.operate(g, opLock) }

// Unlock gives the mutex back; it panics if nobody has it.
func (m *Mutex) Unlock(g *G) { m.operate(g, opUnlock) }

// RWMutex is a sync.RWMutex: who waits to write lets nobody begin to read. Each call is
// a step.
type RWMutex struct{ lock }

// NewRWMutex makes a read-write mutex.
func (g *G) NewRWMutex(name string) *RWMutex { return &RWMutex{g.newLock(name)} }

// Lock takes the mutex for writing.
func (m *RWMutex) Lock(g *G) { m.operate(g, opLock) }

// Unlock gives the mutex back; it panics if nobody has it for writing.
func (m *RWMutex) Unlock(g *G) { m.operate(g, opUnlock) }

// RLock takes the mutex for reading.
func (m *RWMutex) RLock(g *G) { m.operate(g, opRLock) }

// RUnlock gives the mutex back; it panics if nobody has it for reading.
func (m *RWMutex) RUnlock(g *G) { m.operate(g, opRUnlock) }

// lock is a mutex of either kind.
type lock struct {
	run     *run
	name    string
	number  heisen.Object
	writer  *G // who has it, or waits for readers to end
	readers int
}

func (g *G) newLock(name string) lock {
	return lock{run: g.run, name: name, number: g.run.object(name, 8)}
}

func (l *lock) operate(g *G, code opCode) {
	g.own(l.run)
	g.operate(op{code: code, l: l})
}

func (l *lock) lock(g *G) {
	l.writer = g
	if l.readers > 0 {
		g.queue()
		return
	}
	l.locked()
}

func (l *lock) locked() {
	l.writer.held = append(l.writer.held, l)
	l.writer.emit(heisen.Acquire, l.number)
}

func (l *lock) unlock(g *G) {
	if l.writer == nil || l.writer.queued {
		g.fault = "unlock of unlocked mutex " + l.name
		return
	}
	l.writer.drop(l)
	l.writer = nil
	g.emit(heisen.Release, l.number)
}

func (l *lock) runlock(g *G) {
	if l.readers == 0 {
		g.fault = "read-unlock of unlocked mutex " + l.name
		return
	}
	l.readers--
	g.drop(l)
	g.emit(heisen.ReleaseShared, l.number)
	if l.writer != nil && l.readers == 0 {
		l.locked()
		l.writer.complete()
	}
}

// drop takes a lock from what g holds, if it is there: another may have taken it.
func (g *G) drop(l *lock) {
	for i := len(g.held) - 1; i >= 0; i-- {
		if g.held[i] == l {
			g.held = slices.Delete(g.held, i, i+1)
			return
		}
	}
}

// queue leaves it to another to complete g's operation.
func (g *G) queue() {
	g.queued = true
	g.run.ready = g.run.ready[:0]
}

// complete says that g's operation is complete.
func (g *G) complete() {
	g.queued = false
	g.run.ready = append(g.run.ready, g)
}

// Chan is a channel of integers. Each call is a step; without a buffer, a Send is made
// when the goroutine begins to wait for who receives.
type Chan struct {
	run      *run
	name     string
	number   heisen.Object
	capacity int
	closed   bool
	buffer   []message
	// The states of the two sides: how many were sent, how many received.
	sent, received heisen.Object
	returns        []heisen.Object // one for each place in the buffer that has been emptied
	senders        []*G            // who waits to hand over, the first first
}

// message is a value in a channel, and the object that orders sending and receiving.
type message struct {
	value  int
	object heisen.Object
}

// NewChan makes a channel; capacity is 0 or more.
func (g *G) NewChan(name string, capacity int) *Chan {
	if capacity < 0 {
		panic(fmt.Sprintf("racefuzz: channel %s of capacity %d", name, capacity))
	}
	return &Chan{run: g.run, name: name, number: g.run.object(name, 8), capacity: capacity,
		sent: g.run.object("", 8), received: g.run.object("", 8)}
}

// Send sends a value; it panics if the channel is closed.
func (c *Chan) Send(g *G, value int) { c.operate(g, op{code: opSend, value: value}) }

// Receive returns the next value, or 0 and false if the channel is closed and empty.
func (c *Chan) Receive(g *G) (value int, ok bool) {
	x := c.operate(g, op{code: opReceive})
	return x.value, x.ok
}

// TryReceive is a select statement of a Receive and a default: it reports whether there
// was something to receive, without waiting for it. value and ok are as from Receive.
func (c *Chan) TryReceive(g *G) (value int, ok, received bool) {
	x := c.operate(g, op{code: opTryReceive})
	return x.value, x.ok, x.received
}

// ReceiveAny is a select statement of receives from the channels: it receives from one of
// those that it can, which is for the strategy's random numbers to say, and returns which
// it was. Without channels it waits for ever. It is a step.
func (g *G) ReceiveAny(channels ...*Chan) (index, value int, ok bool) {
	for _, c := range channels {
		g.own(c.run)
	}
	g.operate(op{code: opReceiveAny, any: channels})
	return g.op.index, g.op.value, g.op.ok
}

func receiveAny(g *G) {
	var ready []int
	for i, c := range g.op.any {
		if c.ready() {
			ready = append(ready, i)
		}
	}
	g.op.index = ready[g.run.strategy.Random(uint64(len(ready)))]
	g.op.any[g.op.index].receive(g)
}

// ready reports whether there is something to receive, be it that the channel is closed.
func (c *Chan) ready() bool { return c.closed || len(c.buffer) > 0 || len(c.senders) > 0 }

// Close closes the channel; it panics if that is done already.
func (c *Chan) Close(g *G) { c.operate(g, op{code: opClose}) }

func (c *Chan) operate(g *G, x op) *op {
	g.own(c.run)
	x.c = c
	g.operate(x)
	return &g.op
}

// send. The edges are those of Go's memory model: a send is before its receive, and the
// k-th receive before the end of the (k+C)-th send, C being the capacity.
func (c *Chan) send(g *G) {
	if c.closed {
		g.fault = "send on closed channel " + c.name
		return
	}
	object := c.run.object("", 8)
	if c.capacity == 0 {
		g.step(c.sent)
		g.emit(heisen.Send, object)
		g.op.message = object
		c.senders = append(c.senders, g)
		g.queue()
		return
	}
	if len(c.returns) > 0 {
		g.emit(heisen.Receive, c.returns[0])
		c.returns = c.returns[1:]
	}
	g.step(c.sent)
	g.emit(heisen.Send, object)
	c.buffer = append(c.buffer, message{g.op.value, object})
}

// step notes that g makes the next step of what depends on the order of its steps. It
// comes after the messages that the step waits for and before those that it sends.
func (g *G) step(state heisen.Object) {
	g.emit(heisen.Observe, state)
	g.emit(heisen.Change, state)
}

// look notes that there was nothing to receive: at one time there were so many sent and
// so many received.
func (c *Chan) look(g *G) {
	g.emit(heisen.Observe, c.sent)
	g.emit(heisen.Observe, c.received)
	g.emit(heisen.Observe, c.sent)
}

func (c *Chan) receive(g *G) {
	back := c.run.object("", 8)
	switch {
	case len(c.buffer) > 0:
		m := c.buffer[0]
		c.buffer = c.buffer[1:]
		g.op.value, g.op.ok = m.value, true
		g.emit(heisen.Receive, m.object)
		g.step(c.received)
		g.emit(heisen.Send, back)
		c.returns = append(c.returns, back)
	case len(c.senders) > 0:
		s := c.senders[0]
		c.senders = c.senders[1:]
		g.op.value, g.op.ok = s.op.value, true
		g.emit(heisen.Receive, s.op.message)
		g.step(c.received)
		g.emit(heisen.Send, back)
		s.emit(heisen.Receive, back)
		s.complete()
	default:
		g.emit(heisen.Receive, c.number)
		g.emit(heisen.Observe, c.received)
	}
}

func (c *Chan) close(g *G) {
	if c.closed {
		g.fault = "close of closed channel " + c.name
		return
	}
	c.closed = true
	if c.capacity == 0 { // who still waits to send would panic
		g.emit(heisen.Observe, c.received)
	}
	g.step(c.sent)
	g.emit(heisen.Send, c.number)
	for _, s := range c.senders {
		s.fault = "send on closed channel " + c.name
		s.complete()
	}
	c.senders = nil
}

// WaitGroup is a sync.WaitGroup. Each call is a step.
type WaitGroup struct {
	run    *run
	name   string
	number heisen.Object
	count  int
}

// NewWaitGroup makes a wait group.
func (g *G) NewWaitGroup(name string) *WaitGroup {
	return &WaitGroup{run: g.run, name: name, number: g.run.object(name, 8)}
}

// Add adds to the count, which must not fall below 0: then it panics.
func (w *WaitGroup) Add(g *G, delta int) { w.operate(g, op{code: opDone, value: delta}) }

// Done takes 1 from the count.
func (w *WaitGroup) Done(g *G) { w.Add(g, -1) }

// Wait waits until the count is 0.
func (w *WaitGroup) Wait(g *G) { w.operate(g, op{code: opWait}) }

func (w *WaitGroup) operate(g *G, x op) {
	g.own(w.run)
	x.w = w
	g.operate(x)
}

func (w *WaitGroup) add(g *G) {
	if w.count+g.op.value < 0 {
		g.fault = "negative count of wait group " + w.name
		return
	}
	w.count += g.op.value
	if g.op.value < 0 {
		g.emit(heisen.Send, w.number)
	} else {
		g.emit(heisen.Change, w.number)
	}
}
