package racefuzz

import (
	"fmt"

	"github.com/heisen-go/heisen"
)

// Chan models a channel of integers. Each call is a step. The step of an unbuffered Send is the one
// at which the goroutine begins to wait for a receiver.
type Chan struct {
	run      *run
	name     string
	number   heisen.Object
	key      uint64
	capacity int
	closed   bool
	buffer   []message
	// State objects of the two sides: the numbers of sends and of receives.
	sent, received heisen.Object
	returns        []heisen.Object // an object per slot of the buffer that a receive has freed
	senders        []*G            // blocked in an unbuffered Send, in order
}

// message is a value in a channel and the object that orders its send before its receive.
type message struct {
	value  int
	object heisen.Object
}

// NewChan makes a channel. The capacity must not be negative.
func (g *G) NewChan(name string, capacity int) *Chan {
	g.check()
	if capacity < 0 {
		panic(fmt.Sprintf("racefuzz: NewChan: channel %s has capacity %d, want at least 0", name, capacity))
	}
	return &Chan{run: g.run, name: name, number: g.run.object(name, 8), key: g.newKey(), capacity: capacity,
		sent: g.run.object("", 8), received: g.run.object("", 8)}
}

// Send sends a value. It panics if the channel is closed.
func (c *Chan) Send(g *G, value int) { c.operate(g, op{code: opSend, value: value}) }

// Receive returns the next value, or 0 and false if the channel is closed and empty.
func (c *Chan) Receive(g *G) (value int, ok bool) {
	x := c.operate(g, op{code: opReceive})
	return x.value, x.ok
}

// TryReceive models a select statement with a receive and a default case. received reports whether
// the receive was possible; value and ok are then as from Receive.
func (c *Chan) TryReceive(g *G) (value int, ok, received bool) {
	x := c.operate(g, op{code: opTryReceive})
	return x.value, x.ok, x.received
}

// ReceiveAny models a select statement with receives from the channels. It waits until a receive is
// possible and returns the index of the channel; a random number of the strategy decides among
// several. Without channels it blocks forever. It is a step.
func (g *G) ReceiveAny(channels ...*Chan) (index, value int, ok bool) {
	g.check()
	for _, c := range channels {
		if c == nil {
			c = &Chan{}
		}
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

// ready reports whether a receive does not block.
func (c *Chan) ready() bool { return c.closed || len(c.buffer) > 0 || len(c.senders) > 0 }

// Close closes the channel. It panics if the channel is closed already.
func (c *Chan) Close(g *G) { c.operate(g, op{code: opClose}) }

func (c *Chan) operate(g *G, x op) *op {
	g.own(c.run)
	x.c = c
	g.operate(x)
	return &g.op
}

// send emits the synchronization edges of Go's memory model: a send happens before its receive, and
// the k-th receive happens before the completion of the (k+C)-th send, where C is the capacity.
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

// step emits a change of a state object whose changes must keep their order. It is emitted after
// the events of messages that the operation receives and before those of messages that it sends.
func (g *G) step(state heisen.Object) {
	g.emit(heisen.Observe, state)
	g.emit(heisen.Change, state)
}

// observeEmpty emits that a receive would have blocked: the numbers of sends and of receives at one
// moment.
func (c *Chan) observeEmpty(g *G) {
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
	if c.capacity == 0 { // a goroutine that is still blocked in Send would panic
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
