package windowtest

import (
	"math/rand/v2"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Shape determines which events random windows consist of.
type Shape struct {
	Threads, Events, Vars, Locks int

	Values       bool // accesses have values
	Branches     bool // Branch events
	Decides      bool // reads that decide
	Barriers     bool // BarrierPairs
	Synchronized bool // BarrierPairs that are heisen.Synchronized
	Messages     bool
	Atomics      bool
	Shared       bool // shared holds of locks
	Ranges       bool // accesses to ranges of memory, and a lock in memory
	Allocations  bool
	Held         bool // a lock is held at the start
	misused      bool // locks that are acquired while they are held, or used as messages
	Nested       bool // many lock operations, with nested critical sections

	Reacquired bool // threads often acquire locks that they hold
	Foreign    bool // threads often release locks that others hold
}

// RandomShape returns a random shape with about as many events.
func RandomShape(rng *rand.Rand, events int) Shape {
	s := Shape{
		Threads: 2 + rng.IntN(3), Events: 4 + rng.IntN(max(1, events-3)), Vars: 1 + rng.IntN(3), Locks: 1 + rng.IntN(2),
		Values: rng.IntN(3) == 0, Shared: rng.IntN(3) == 0, Messages: rng.IntN(4) == 0, Atomics: rng.IntN(4) == 0,
		Held: rng.IntN(4) == 0,
	}
	switch rng.IntN(8) {
	case 0:
		s.Barriers = true
	case 1:
		s.Ranges = true
	case 2:
		s.Allocations = true
	case 3:
		s.misused = true
	case 4:
		s.Branches = true
	}
	return s
}

// Objects of random windows.
const (
	firstVariable = 16
	firstLock     = 1 << 12
	messageObject = 1 << 13
)

// unknownValue is what memory holds after a write without a value.
const unknownValue = 7

// RandomWindow returns a random window that an execution can show, and its symbols.
//
// Stored answers depend on the sequence of random numbers that it draws.
func RandomWindow(rng *rand.Rand, s Shape) (*window.Window, *heisen.Symbols) {
	g := newGenerator(rng, s)
	if s.Held {
		g.holdAtStart()
	}
	for tries := 0; len(g.window.Records) < s.Events && tries < 40*s.Events; tries++ {
		t := rng.IntN(s.Threads)
		if !g.started[t] || g.ended[t] {
			continue
		}
		r := heisen.Record{Thread: heisen.Thread(t)}
		if g.event(t, &r) {
			g.add(r)
		}
	}
	return g.window, g.symbols
}

// generator is the state of the random program.
type generator struct {
	Shape
	rng     *rand.Rand
	window  *window.Window
	symbols *heisen.Symbols

	started, ended []bool            // by thread
	acquired       [][]heisen.Record // by thread: its acquisitions without a release
	hidden         [][]heisen.Record // by thread: its Hide events without a Reveal
	locks          *window.Locks
	memory         map[heisen.Object]uint64
}

func newGenerator(rng *rand.Rand, s Shape) *generator {
	g := &generator{
		Shape: s, rng: rng, window: &window.Window{}, symbols: heisen.NewSymbols(),
		started: make([]bool, s.Threads), ended: make([]bool, s.Threads),
		acquired: make([][]heisen.Record, s.Threads), hidden: make([][]heisen.Record, s.Threads),
		locks: window.NewLocks(), memory: map[heisen.Object]uint64{},
	}
	g.started[0] = true
	for t := range g.started {
		g.started[t] = g.started[t] || rng.IntN(2) == 0
	}
	return g
}

// holdAtStart makes a random thread, if it has started, hold the first lock at the start.
func (g *generator) holdAtStart() {
	t := g.rng.IntN(g.Threads)
	hold := window.HeldLock{Lock: firstLock, Thread: heisen.Thread(t), Shared: g.Shared && g.rng.IntN(2) == 0}
	if !g.started[t] {
		return
	}
	g.window.Held = append(g.window.Held, hold)
	op := heisen.Acquire
	if hold.Shared {
		op = heisen.AcquireShared
	}
	r := heisen.Record{Op: op, Object: hold.Lock, Thread: hold.Thread}
	g.locks.Apply(&r)
	g.acquired[t] = append(g.acquired[t], r)
}

// add appends a record. Sites are the numbers of records, from 1.
func (g *generator) add(r heisen.Record) {
	if window.IsLockOp(r.Op) && g.Ranges && r.Object == firstLock {
		r.Flags |= heisen.LockWord
	}
	r.Site = heisen.Site(len(g.window.Records) + 1)
	g.window.Records = append(g.window.Records, r)
	g.locks.Apply(&r)
}

// variable returns a random variable.
func (g *generator) variable() heisen.Object {
	return heisen.Object(firstVariable + 8*g.rng.IntN(g.Vars))
}

// event makes r a random event of thread t. It returns false if the event is not possible or not
// wanted.
func (g *generator) event(t int, r *heisen.Record) bool {
	const lock = 9
	n := g.rng.IntN(20)
	if g.Foreign && g.rng.IntN(3) == 0 {
		n = lock
	}
	if g.Nested && g.rng.IntN(2) == 0 {
		n = lock
	}
	switch {
	case n < lock:
		g.access(r)
		return true
	case n < 14:
		if len(g.acquired[t]) > 0 && (g.rng.IntN(2) == 0 || g.Nested && len(g.acquired[t]) == g.Locks) {
			g.release(t, r)
			return true
		}
		return g.acquire(t, r)
	case n < 15:
		return g.forkOrJoin(t, r)
	case n < 17:
		return g.message(r)
	case n < 18:
		r.Op = heisen.Branch
		return g.Branches
	case n < 19:
		return g.hideOrReveal(t, r)
	}
	return g.overwriteOrAllocate(r)
}

func (g *generator) access(r *heisen.Record) {
	r.Op, r.Object = heisen.Read, g.variable()
	if g.rng.IntN(5) < 2 {
		r.Op = heisen.Write
	}
	if g.Atomics && g.rng.IntN(3) == 0 {
		r.Op = []heisen.Op{heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}[g.rng.IntN(3)]
	}
	if g.Ranges && g.rng.IntN(2) == 0 {
		r.Object += heisen.Object(g.rng.IntN(4))
		r.Len = uint16(1 + g.rng.IntN(9))
	}
	if g.Values && r.Op != heisen.AtomicUpdate && g.rng.IntN(8) > 0 {
		r.Flags = heisen.HasValue
		if r.Op.IsWrite() {
			r.Value = uint64(g.rng.IntN(2))
		} else {
			r.Value = g.memory[r.Object]
		}
	}
	if r.Op.IsWrite() {
		g.memory[r.Object] = r.Value
		if r.Flags == 0 {
			g.memory[r.Object] = unknownValue
		}
	}
	if g.Values && r.Op == heisen.Read && g.memory[r.Object] == unknownValue {
		r.Flags, r.Value = 0, 0
	}
	if g.Decides && window.IsRead(r.Op) && g.rng.IntN(3) == 0 {
		r.Flags |= heisen.Decides
	}
}

// release makes r the release of a lock that thread t has acquired. Sometimes another thread releases
// it, as Go's locks permit.
func (g *generator) release(t int, r *heisen.Record) {
	k := g.rng.IntN(len(g.acquired[t]))
	a := g.acquired[t][k]
	g.acquired[t] = append(g.acquired[t][:k:k], g.acquired[t][k+1:]...)
	r.Op, r.Object = heisen.Release, a.Object
	if a.Op == heisen.AcquireShared {
		r.Op = heisen.ReleaseShared
	}
	if !g.Nested && g.rng.IntN(12) == 0 || (g.Reacquired || g.Foreign) && g.rng.IntN(3) == 0 {
		if u := g.rng.IntN(g.Threads); g.started[u] && !g.ended[u] {
			r.Thread = heisen.Thread(u)
		}
	}
}

func (g *generator) acquire(t int, r *heisen.Record) bool {
	r.Op, r.Object = heisen.Acquire, heisen.Object(firstLock+8*g.rng.IntN(g.Locks))
	if g.Shared && g.rng.IntN(2) == 0 {
		r.Op = heisen.AcquireShared
	}
	shared := r.Op == heisen.AcquireShared
	free := window.CanAcquire(g.locks.Held[r.Object], r.Thread, shared)
	if own := g.locks.Held[r.Object]; free && len(own) > 0 && !(own[0].Shared && shared) && (g.rng.IntN(4) > 0 && !g.Reacquired || g.Foreign) {
		free = false // the thread holds the lock, and reacquiring it is to be rare
	}
	if !free && !(g.misused && g.rng.IntN(4) == 0) {
		return false
	}
	g.acquired[t] = append(g.acquired[t], *r)
	return true
}

func (g *generator) forkOrJoin(t int, r *heisen.Record) bool {
	u := g.rng.IntN(g.Threads)
	switch {
	case u == t:
		return false
	case !g.started[u]:
		g.started[u] = true
		r.Op, r.Object = heisen.Fork, heisen.Object(u)
	case g.rng.IntN(2) == 0 && len(g.acquired[u]) == 0 && len(g.hidden[u]) == 0:
		g.ended[u] = true
		r.Op, r.Object = heisen.Join, heisen.Object(u)
	default:
		return false
	}
	return true
}

func (g *generator) message(r *heisen.Record) bool {
	if !g.Messages {
		return false
	}
	r.Op, r.Object = heisen.Send, messageObject
	switch g.rng.IntN(6) {
	case 0, 1:
		r.Op = heisen.Receive
	case 2:
		r.Op = heisen.Observe
	case 3:
		r.Op = heisen.Change
	}
	if g.misused && g.rng.IntN(3) == 0 {
		r.Object = firstLock
	}
	return true
}

func (g *generator) hideOrReveal(t int, r *heisen.Record) bool {
	if !g.Barriers && !g.Synchronized {
		return false
	}
	if len(g.hidden[t]) > 0 && g.rng.IntN(2) == 0 {
		last := g.hidden[t][len(g.hidden[t])-1]
		g.hidden[t] = g.hidden[t][:len(g.hidden[t])-1]
		r.Op, r.Object = heisen.Reveal, last.Object
		return true
	}
	r.Op, r.Object = heisen.Hide, heisen.Object(100+len(g.window.Records))
	reach := func(spans ...heisen.Span) { r.Value = uint64(g.symbols.AddReach(heisen.NewObjects(spans...))) }
	if g.Synchronized {
		r.Value = uint64(heisen.Synchronized)
		g.hidden[t] = append(g.hidden[t], *r)
		return true
	}
	switch g.rng.IntN(6) {
	case 0: // all objects
	case 1:
		reach(heisen.Span{Start: heisen.ThreadObject(heisen.Thread(g.rng.IntN(g.Threads))), Len: 1})
	case 2:
		reach(heisen.Span{Start: 8, Len: 4}, heisen.Span{Start: g.variable(), Len: 8})
	case 3:
		reach(heisen.Span{Start: firstLock, Len: uint64(1 + g.rng.IntN(16))}, heisen.Span{Start: messageObject, Len: 1})
	default:
		reach(heisen.Span{Start: 8, Len: 4})
	}
	g.hidden[t] = append(g.hidden[t], *r)
	return true
}

// overwriteOrAllocate makes r an access to the memory of the first lock, or an allocation.
func (g *generator) overwriteOrAllocate(r *heisen.Record) bool {
	if g.Ranges && g.rng.IntN(2) == 0 {
		r.Op, r.Object, r.Len = heisen.Write, firstLock, 8
		if g.rng.IntN(2) == 0 {
			r.Op = heisen.Read
		}
		return true
	}
	if !g.Allocations {
		return false
	}
	r.Op, r.Object, r.Value = heisen.Alloc, g.variable(), uint64(1+g.rng.IntN(12))
	if g.rng.IntN(3) == 0 {
		r.Op = heisen.Free
	}
	return true
}
