package recorder

import (
	"math/rand/v2"
	"slices"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// step is a step of an execution; they are in the order in which they happen.
type step struct {
	g       int
	op      uint64 // 0 for a barrier
	obj     uint64 // of opLeave the number of calls
	pc      uint32 // unique, or 0
	size    uint64
	foreign bool // a release of another goroutine's lock
}

// Steps that are not records: calls, and returns.
const (
	opCall  = wire.NumOps + 1
	opLeave = wire.NumOps + 2
)

// shape has the parameters of a random execution.
type shape struct {
	name       string
	steps      int
	goroutines int  // upper bound
	ps         int  // buffers
	flush      int  // mean number of steps between flushes
	foreign    bool // locks are released by goroutines that don't hold them
	collected  bool // finalizers run
	reuse      bool // addresses are used again after a barrier
}

var shapes = []shape{
	{name: "one buffer", steps: 60, goroutines: 4, ps: 1, flush: 5},
	{name: "migration", steps: 120, goroutines: 5, ps: 3, flush: 10},
	{name: "late buffers", steps: 150, goroutines: 6, ps: 4, flush: 60},
	{name: "reuse", steps: 200, goroutines: 5, ps: 3, flush: 20, reuse: true},
	{name: "foreign unlock", steps: 120, goroutines: 5, ps: 3, flush: 15, foreign: true},
	{name: "finalizers", steps: 150, goroutines: 6, ps: 3, flush: 20, collected: true, reuse: true},
	{name: "many goroutines", steps: 1500, goroutines: 200, ps: 4, flush: 200},
}

// The addresses of an execution. Atomic operations and plain accesses share the
// variables.
const (
	varBase   = 0x1000
	bigBase   = 0x1000_0000
	lockBase  = 0x2000
	msgBase   = 0x3000
	lifeBase  = 0x4000
	lifeWords = 4 // length of an address range that is reused
	numVars   = 4
	numLocks  = 3
	numMsgs   = 3
	numRanges = 3
)

// generator makes random executions that a Go program could show: a lock has one
// writer or some readers, a goroutine acts between its fork and its end, the
// addresses of a dead object are allocated again only after a barrier.
type generator struct {
	shape
	rng   *rand.Rand
	steps []step
	pc    uint32
	alive []int
	born  int
	depth map[int]int
	locks [numLocks]struct {
		writer  int // + 1
		readers []int
	}
	ranges [numRanges]struct {
		allocated bool
		dead      bool // until the next barrier
		knows     map[int]bool
	}
}

func randomExecution(rng *rand.Rand, s shape) []step {
	g := &generator{shape: s, rng: rng, alive: []int{0}, born: 1, depth: map[int]int{}}
	for len(g.steps) < s.steps {
		g.step(g.alive[rng.IntN(len(g.alive))])
	}
	return g.steps
}

func (g *generator) add(s step) {
	g.pc += 1 + uint32(g.rng.IntN(3000))
	s.pc = g.pc
	if s.op >= wire.OpAcquire && s.op != wire.OpEnd && s.op < wire.NumOps && g.rng.IntN(10) == 0 {
		s.pc = 0
	}
	g.steps = append(g.steps, s)
}

func (g *generator) step(t int) {
	n := uint64(g.rng.IntN(1 << 20))
	switch g.rng.IntN(16) {
	case 0, 1, 2, 3, 4:
		op := uint64(wire.OpRead + n%2)
		size := []uint64{1, 1, 1, 1, 8, 24, 0}[g.rng.IntN(7)]
		obj := varBase + n%(8*numVars)
		if g.rng.IntN(150) == 0 {
			obj, size = bigBase+n%64, 60_000+uint64(g.rng.IntN(100_000))
		}
		g.add(step{g: t, op: op, obj: obj, size: size})
	case 5, 6:
		g.add(step{g: t, op: wire.OpAtomicRead + n%3, obj: varBase + 8*(n%numVars)})
	case 7, 8, 9:
		g.lock(t, int(n%numLocks))
	case 10:
		g.add(step{g: t, op: wire.OpSend + n%2, obj: msgBase + 8*(n/2%numMsgs)})
	case 11:
		if g.born < g.goroutines {
			child := g.born
			g.born++
			g.alive = append(g.alive, child)
			if g.rng.IntN(6) > 0 {
				g.add(step{g: t, op: wire.OpFork, obj: uint64(child)})
			} // else an orphan
		} else if i := slices.Index(g.alive, t); t != 0 && g.rng.IntN(3) == 0 && !g.holds(t) {
			g.add(step{g: t, op: wire.OpEnd})
			g.alive = slices.Delete(g.alive, i, i+1)
		}
	case 12, 13:
		if d := g.depth[t]; d > 0 && g.rng.IntN(2) == 0 {
			out := 1 + g.rng.IntN(d)
			g.depth[t] -= out
			g.add(step{g: t, op: opLeave, obj: uint64(out)})
		} else {
			g.depth[t]++
			g.add(step{g: t, op: opCall})
		}
	case 14:
		if g.shape.reuse {
			g.allocationEpochs(t, int(n%numRanges))
		}
	case 15:
		if g.collected && g.rng.IntN(3) == 0 {
			g.add(step{g: t, op: wire.OpCollected})
		}
		if g.rng.IntN(4) == 0 {
			g.add(step{})
			for i := range g.ranges {
				g.ranges[i].dead = false
			}
		}
	}
}

func (g *generator) lock(t, i int) {
	l, obj := &g.locks[i], uint64(lockBase+8*i)
	mine := slices.Index(l.readers, t)
	switch {
	case l.writer == t+1:
		l.writer = 0
		g.add(step{g: t, op: wire.OpRelease, obj: obj})
	case l.writer != 0:
		if g.foreign {
			l.writer = 0
			g.add(step{g: t, op: wire.OpRelease, obj: obj, foreign: true})
		}
	case mine >= 0:
		l.readers = slices.Delete(l.readers, mine, mine+1)
		g.add(step{g: t, op: wire.OpReleaseShared, obj: obj})
	case len(l.readers) == 0 && g.rng.IntN(2) == 0:
		l.writer = t + 1
		g.add(step{g: t, op: []uint64{wire.OpAcquire, wire.OpTryAcquire}[g.rng.IntN(2)], obj: obj})
	default:
		l.readers = append(l.readers, t)
		g.add(step{g: t, op: []uint64{wire.OpAcquireShared, wire.OpTryAcquireShared}[g.rng.IntN(2)], obj: obj})
	}
}

func (g *generator) holds(t int) bool {
	for _, l := range g.locks {
		if l.writer == t+1 || slices.Contains(l.readers, t) {
			return true
		}
	}
	return false
}

// allocationEpochs uses an address range in several allocation epochs. Goroutines that did not
// allocate it get its address by a message.
func (g *generator) allocationEpochs(t, i int) {
	l := &g.ranges[i]
	obj, size, msg := uint64(lifeBase+64*i), uint64(8*lifeWords), uint64(lifeBase+0x1000+8*i)
	switch {
	case l.dead:
	case !l.allocated:
		l.allocated, l.knows = true, map[int]bool{t: true}
		g.add(step{g: t, op: wire.OpAlloc, obj: obj, size: size})
		g.add(step{g: t, op: wire.OpSend, obj: msg})
	case g.rng.IntN(8) == 0:
		l.allocated, l.dead = false, true
	default:
		if !l.knows[t] {
			l.knows[t] = true
			g.add(step{g: t, op: []uint64{wire.OpReceive, wire.OpChanceReceive}[g.rng.IntN(2)], obj: msg})
			g.add(step{g: t, op: []uint64{wire.OpChange, wire.OpObserve, wire.OpStep}[g.rng.IntN(3)], obj: msg})
		}
		g.add(step{g: t, op: wire.OpRead + uint64(g.rng.IntN(2)), obj: obj + 8*uint64(g.rng.IntN(lifeWords)), size: 1})
	}
}

// record distributes an execution over buffers, between which the goroutines
// move, and flushes them now and then in any order.
func record(rng *rand.Rand, s shape, steps []step) []byte {
	r := newRecorder(s.ps)
	forked := map[int]bool{}
	at := map[int]int{}
	for _, st := range steps {
		if st.op == 0 {
			for _, p := range rng.Perm(s.ps) {
				r.flush(p)
			}
			r.barrier()
			continue
		}
		if r.gs[st.g] == nil {
			r.goroutine(st.g, !forked[st.g])
		}
		if rng.IntN(4) == 0 {
			at[st.g] = rng.IntN(s.ps)
		}
		p := at[st.g]
		switch st.op {
		case wire.OpRead, wire.OpWrite, wire.OpAlloc, wire.OpFree:
			r.access(p, st.g, st.op, st.obj, st.pc, st.size)
		case opCall:
			r.call(st.g, st.pc)
		case opLeave:
			r.leave(st.g, int(st.obj))
		case wire.OpEnd:
			if r.gs[st.g].begun { // no other goroutine knows the address otherwise
				r.sync(p, st.g, st.op, st.obj, st.pc)
			}
		case wire.OpFork:
			forked[int(st.obj)] = true
			fallthrough
		default:
			r.sync(p, st.g, st.op, st.obj, st.pc)
		}
		if rng.IntN(s.flush) == 0 {
			r.flush(rng.IntN(s.ps))
		}
	}
	for _, p := range rng.Perm(s.ps) {
		r.flush(p)
	}
	return r.bye(0)
}
