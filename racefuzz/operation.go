package racefuzz

import (
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// op is an operation that a goroutine is about to make or has made: its arguments and results.
type op struct {
	code opCode
	site heisen.Site

	v          *Var
	l          *lock
	c          *Chan
	any        []*Chan
	w          *WaitGroup
	g          *G // the goroutine to join, or that was started
	value, old int
	index      int           // of the channel received from
	received   bool          // whether there was something to receive
	ok         bool          // result of a receive or a compare-and-swap
	message    heisen.Object // orders an unbuffered send before its receive

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

// task describes the operation to strategies.
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

// object returns the name of the object of the operation.
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

// enabled reports whether g can make the operation in the current state.
func (x *op) enabled(g *G) bool {
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
		g.task.Write = x.v.value == x.old // if the operation is made now
	}
	return true
}

// do makes the operation of g.
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
		x.l.acquire(g)
	case opUnlock:
		x.l.release(g)
	case opRLock:
		x.l.readers++
		g.held = append(g.held, x.l)
		g.emit(heisen.AcquireShared, x.l.number)
	case opRUnlock:
		x.l.releaseShared(g)
	case opSend:
		x.c.send(g)
	case opReceive:
		x.c.receive(g)
	case opTryReceive:
		if x.received = x.c.ready(); x.received {
			x.c.receive(g)
		} else {
			x.c.observeEmpty(g)
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
