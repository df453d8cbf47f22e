package workload

import (
	"math/rand/v2"

	"github.com/heisen-go/heisen"
)

// The traces of this file carry values, keep locks exclusive and have races that
// only another order shows: what predictive detectors work on. Variables are 0
// at first; every access has its value. Events is the number of events, nearly:
// at most some dozens more, for threads finish what they are at.

// Mixed is a trace of threads that access variables mostly under the lock that
// guards them, sometimes variables of their own, and once in a while shared ones
// without their lock. Vars is their number, one for every 20 events if 0.
func Mixed(p Params) []heisen.Record {
	return predictable(p, profile{vars: max(8, p.Events/20), share: 4, values: 8, guarded: 75, local: 10})
}

// Hot is a trace of threads that fight for few variables, half of the time
// without their lock, and know two values only, so that each read has many writes
// to read from. Vars is their number, 4 if 0.
func Hot(p Params) []heisen.Record {
	return predictable(p, profile{vars: 4, share: 2, values: 2, guarded: 50})
}

// Locky is a trace of threads that mostly take locks, up to three in each other,
// in the order of their numbers, and do little under them. Vars is the number of
// variables, one for every 40 events if 0; there are as many locks.
func Locky(p Params) []heisen.Record {
	return predictable(p, profile{vars: max(8, p.Events/40), share: 1, values: 8, guarded: 90, deep: true})
}

// profile is what makes one of these traces different from the others.
type profile struct {
	vars    int  // unless Params has another number
	share   int  // variables that one lock guards
	values  int  // a write writes one of so many
	guarded int  // of 100 pieces of work, those that take locks
	local   int  // and those on the thread's own variables; the rest takes no lock
	deep    bool // take several locks
}

// predictable makes threads plan a piece of work at a time and interleaves their
// events one by one, now and then in short bursts.
func predictable(p Params, f profile) []heisen.Record {
	p.Threads, p.Events = max(p.Threads, 1), max(p.Events, 1)
	if p.Vars <= 0 {
		p.Vars = f.vars
	}
	g := &valued{
		builder: &builder{Params: p, rng: rand.New(rand.NewPCG(p.Seed, 0x9e3779b97f4a7c15))},
		profile: f,
		plans:   make([][]heisen.Record, p.Threads+1),
		memory:  map[heisen.Object]uint64{},
		holder:  map[heisen.Object]heisen.Thread{},
	}
	for t := 1; t <= p.Threads; t++ {
		g.add(0, heisen.Fork, heisen.Object(t))
		g.add(heisen.Thread(t), heisen.Begin, heisen.Object(t))
	}
	for len(g.out) < p.Events-2*p.Threads {
		t := g.thread()
		for range 1 + g.rng.IntN(4) {
			if len(g.plans[t]) == 0 {
				g.plan(t)
			}
			if !g.step(t) {
				break
			}
		}
	}
	for open := true; open; { // as locks are taken in order, somebody can go on
		open = false
		for t := range g.plans {
			open = g.step(heisen.Thread(t)) || open
		}
	}
	for t := 1; t <= p.Threads; t++ {
		g.add(heisen.Thread(t), heisen.End, heisen.Object(t))
		g.add(0, heisen.Join, heisen.Object(t))
	}
	return g.out
}

type valued struct {
	*builder
	profile
	plans  [][]heisen.Record // by thread: what it is going to do
	memory map[heisen.Object]uint64
	holder map[heisen.Object]heisen.Thread
}

// plan gives a thread a piece of work.
func (g *valued) plan(t heisen.Thread) {
	locks := max(1, g.Vars/g.share)
	k := g.rng.IntN(100)
	switch {
	case k < g.guarded:
		held := []int{g.rng.IntN(locks)}
		for g.deep && len(held) < 3 && g.rng.IntN(2) == 0 && held[len(held)-1]+1 < locks {
			last := held[len(held)-1]
			held = append(held, last+1+g.rng.IntN(min(4, locks-last-1)))
		}
		for _, l := range held {
			g.intend(t, heisen.Acquire, lockAt(l))
		}
		for range 1 + g.rng.IntN(4) {
			g.intendAccess(t, held[g.rng.IntN(len(held))]*g.share+g.rng.IntN(g.share), 2)
			if g.deep {
				break
			}
		}
		for i := range held {
			g.intend(t, heisen.Release, lockAt(held[len(held)-1-i]))
		}
	case k < g.guarded+g.local:
		for range 1 + g.rng.IntN(4) {
			g.intendAccess(t, g.Vars+int(t)*8+g.rng.IntN(8), 1)
		}
	default:
		for range 1 + g.rng.IntN(2) {
			g.intendAccess(t, g.rng.IntN(locks*g.share), 2)
		}
	}
}

func (g *valued) intend(t heisen.Thread, op heisen.Op, o heisen.Object) {
	g.plans[t] = append(g.plans[t], heisen.Record{Op: op, Object: o})
}

func (g *valued) intendAccess(t heisen.Thread, v, reads int) {
	if g.rng.IntN(reads+1) == 0 {
		g.intend(t, heisen.Write, varAt(v))
	} else {
		g.intend(t, heisen.Read, varAt(v))
	}
}

// step does the next event of a thread's plan. It reports false if there is none
// or its lock is taken.
func (g *valued) step(t heisen.Thread) bool {
	if len(g.plans[t]) == 0 {
		return false
	}
	r := g.plans[t][0]
	switch r.Op {
	case heisen.Acquire:
		if g.holder[r.Object] != 0 {
			return false
		}
		g.holder[r.Object] = t
	case heisen.Release:
		delete(g.holder, r.Object)
	case heisen.Write:
		g.memory[r.Object] = uint64(g.rng.IntN(g.values))
	}
	g.plans[t] = g.plans[t][1:]
	g.add(t, r.Op, r.Object)
	last := &g.out[len(g.out)-1]
	last.Flags = 0 // locks are names here
	if r.Op.IsAccess() {
		last.Value, last.Flags = g.memory[r.Object], heisen.HasValue
	}
	return true
}
