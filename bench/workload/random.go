package workload

import (
	"math/rand/v2"
	"slices"

	"github.com/heisen-go/heisen"
)

// Small describes small random traces.
type Small struct {
	Threads   int  // at least 1
	Events    int  // approximate number of events
	Vars      int  // variables, 8 bytes apart; at least 1
	Syncs     int  // synchronization objects; at least 1
	Ranges    bool // some accesses have several bytes or are to parts of variables
	LockWords bool // every second lock is a variable
	Lives     bool // variables and synchronization objects have Alloc and Free
	Wild      bool // the trace need not be well-formed: any thread may do anything at any time
	Sites     int  // number of sites; with 0, event i has the site i+1
	Nested    bool // threads acquire locks again that they hold, in both modes

	// If Hidden is not nil, threads make nested hidden calls. Each reaches one of its sets of
	// objects.
	Hidden *heisen.Symbols
}

// Random returns a random trace with every op that orders events or accesses memory. If s.Wild is
// not set, a lock is held by one writer or several readers, only its holder releases it, and a
// thread does nothing after its End or its Join. Most threads are forked; some have no Fork.
//
// Some synchronization objects have the addresses of variables, as in programs that use sync/atomic
// on variables.
func Random(rng *rand.Rand, s Small) []heisen.Record {
	g := &random{Small: s, rng: rng}
	g.state = make([]threadState, s.Threads)
	g.state[0] = running
	g.locks = make([]lockState, s.Syncs)
	g.open = make([]int, s.Threads)
	for len(g.out) < s.Events {
		g.step()
	}
	return g.out
}

type threadState uint8

const (
	unborn threadState = iota
	running
	ended
)

type lockState struct {
	writer  int   // thread + 1, or 0
	again   int   // additional acquisitions by the writer
	readers []int // threads
}

type random struct {
	Small
	rng   *rand.Rand
	out   []heisen.Record
	state []threadState
	locks []lockState
	open  []int // hidden calls by thread
}

func (g *random) add(t int, r heisen.Record) {
	r.Thread = heisen.Thread(t)
	r.Site = heisen.Site(len(g.out) + 1)
	if g.Sites > 0 {
		r.Site = heisen.Site(1 + g.rng.IntN(g.Sites))
	}
	r.Context = heisen.Context(g.rng.IntN(2))
	g.out = append(g.out, r)
}

// step picks a random event of a random thread and adds it, unless the trace would no longer be
// well-formed.
func (g *random) step() {
	t := g.rng.IntN(g.Threads)
	if !g.Wild {
		if g.state[t] == unborn && g.rng.IntN(20) == 0 {
			g.state[t] = running
		}
		if g.state[t] != running {
			return
		}
	}
	if g.Hidden != nil && g.rng.IntN(5) == 0 {
		g.hide(t)
		return
	}
	switch n := g.rng.IntN(20); {
	case n < 9:
		g.access(t)
	case n < 13:
		g.lock(t)
	case n < 15:
		g.add(t, heisen.Record{Op: pick(g.rng, heisen.Send, heisen.Receive), Object: g.sync()})
	case n < 17:
		g.add(t, heisen.Record{
			Op:     pick(g.rng, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate),
			Object: g.variable(), Len: uint16(g.size()),
		})
	case n < 19:
		g.thread(t)
	case g.Lives:
		g.life(t)
	}
}

// life adds an event that begins or ends an allocation epoch.
func (g *random) life(t int) {
	o, size := g.variable(), uint64(1+g.rng.IntN(12))
	if g.rng.IntN(2) == 0 {
		o = g.sync()
	}
	g.add(t, heisen.Record{Op: pick(g.rng, heisen.Alloc, heisen.Free), Object: o, Value: size})
}

// Sets returns symbols with n sets of objects and threads of random traces. Each has one to three
// words or, if overlap is set, any spans.
func Sets(rng *rand.Rand, s Small, n int, overlap bool) *heisen.Symbols {
	symbols := heisen.NewSymbols()
	for range n {
		var spans []heisen.Span
		for range 1 + rng.IntN(3) {
			span := heisen.Span{Start: heisen.Object(8 * (1 + rng.IntN(s.Vars))), Len: 8}
			switch rng.IntN(4) {
			case 0:
				span.Start = lockAt(rng.IntN(s.Syncs))
			case 1:
				span = heisen.Span{Start: heisen.ThreadObject(heisen.Thread(rng.IntN(s.Threads))), Len: 1}
			}
			if overlap {
				span.Start += heisen.Object(rng.IntN(6))
				span.Len = uint64(1 + rng.IntN(12))
			}
			spans = append(spans, span)
		}
		symbols.AddReach(heisen.NewObjects(spans...))
	}
	return symbols
}

// hide begins or ends a hidden call.
func (g *random) hide(t int) {
	r := heisen.Record{Op: heisen.Hide, Object: heisen.Object(8 * (1 + g.open[t]))}
	switch {
	case g.Wild && g.rng.IntN(4) == 0:
		r.Object = heisen.Object(8 * (1 + g.rng.IntN(3)))
		if g.rng.IntN(2) == 0 {
			r.Op = heisen.Reveal
		}
	case g.open[t] > 0 && g.rng.IntN(3) > 0:
		r.Op, r.Object = heisen.Reveal, heisen.Object(8*g.open[t])
		g.open[t]--
	default:
		g.open[t]++
	}
	if r.Op == heisen.Hide {
		if r.Value = uint64(g.rng.IntN(g.Hidden.NumReaches())); r.Value == 0 && g.rng.IntN(4) > 0 {
			r.Value = uint64(g.Hidden.NumReaches() - 1)
		}
	}
	g.add(t, r)
}

func (g *random) access(t int) {
	r := heisen.Record{
		Op:     pick(g.rng, heisen.Read, heisen.Write, heisen.Read),
		Object: g.variable(), Len: uint16(g.size()),
	}
	if g.Ranges {
		r.Object += heisen.Object(g.rng.IntN(4))
	}
	g.add(t, r)
}

func (g *random) variable() heisen.Object { return heisen.Object(8 * (1 + g.rng.IntN(g.Vars))) }

func (g *random) size() int {
	if !g.Ranges || g.rng.IntN(2) == 0 {
		return 0
	}
	return 1 + g.rng.IntN(11)
}

// sync returns a synchronization object: one that lock uses, or sometimes the address of a variable.
func (g *random) sync() heisen.Object {
	if g.rng.IntN(4) == 0 {
		return g.variable()
	}
	return lockAt(g.rng.IntN(g.Syncs))
}

func (g *random) lock(t int) {
	i := g.rng.IntN(g.Syncs)
	l := &g.locks[i]
	op := pick(g.rng, heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared)
	if !g.Wild {
		mine := -1
		for at, reader := range l.readers {
			if reader == t {
				mine = at
			}
		}
		nest := g.Nested && (l.writer == t+1 || mine >= 0) && g.rng.IntN(3) == 0
		switch {
		case nest && l.writer == t+1 && g.rng.IntN(2) == 0:
			op = heisen.Acquire
			l.again++
		case nest:
			op = heisen.AcquireShared
			l.readers = append(l.readers, t)
		case l.writer == t+1 && mine >= 0 && g.rng.IntN(2) == 0:
			op = heisen.ReleaseShared
			l.readers = slices.Delete(l.readers, mine, mine+1)
		case l.writer == t+1 && l.again > 0:
			op = heisen.Release
			l.again--
		case l.writer == t+1:
			op, l.writer = heisen.Release, 0
		case l.writer != 0:
			return
		case mine >= 0:
			op = heisen.ReleaseShared
			l.readers = append(l.readers[:mine], l.readers[mine+1:]...)
		case op == heisen.AcquireShared || op == heisen.ReleaseShared:
			op = heisen.AcquireShared
			l.readers = append(l.readers, t)
		case len(l.readers) > 0:
			return
		default:
			op, l.writer = heisen.Acquire, t+1
		}
	}
	r := heisen.Record{Op: op, Object: lockAt(i)}
	if g.LockWords && i%2 == 0 {
		r.Object, r.Flags = heisen.Object(8*(1+i%g.Vars)), heisen.LockWord
	}
	g.add(t, r)
}

func (g *random) thread(t int) {
	other := g.rng.IntN(g.Threads)
	op := pick(g.rng, heisen.Fork, heisen.Fork, heisen.Join, heisen.End)
	if !g.Wild {
		switch {
		case g.state[other] == unborn:
			op = heisen.Fork
			g.state[other] = running
		case g.holds(other):
			return
		case op == heisen.End && g.busy() > 1:
			other = t
			if g.holds(t) {
				return
			}
			g.state[t] = ended
		case op == heisen.Join && other != t:
			g.state[other] = ended
		default:
			return
		}
	}
	g.add(t, heisen.Record{Op: op, Object: heisen.Object(other)})
}

// busy returns the number of running threads.
func (g *random) busy() (n int) {
	for _, s := range g.state {
		if s == running {
			n++
		}
	}
	return n
}

func (g *random) holds(t int) bool {
	for _, l := range g.locks {
		if l.writer == t+1 {
			return true
		}
		for _, reader := range l.readers {
			if reader == t {
				return true
			}
		}
	}
	return false
}

func pick(rng *rand.Rand, ops ...heisen.Op) heisen.Op { return ops[rng.IntN(len(ops))] }
