package workload

import (
	"math/rand/v2"

	"github.com/heisen-go/heisen"
)

// The traces of this file are for predictive detectors: accesses have values, locks are exclusive,
// and some races show only in another order. Variables are initially 0. A trace has at most some
// dozens more events than Params.Events, because threads complete their work.

// Mixed returns a trace of threads that mostly access variables under the lock that protects them,
// sometimes variables of their own, and rarely shared variables without their lock. If Vars is 0,
// there is one variable for every 20 events.
func Mixed(p Params) []heisen.Record {
	return predictable(p, profile{vars: max(8, p.Events/20), share: 4, values: 8, guarded: 75, local: 10})
}

// Hot returns a trace of threads that compete for few variables, half of the time without their
// lock. They write only two values, so each read has many possible writes to read from. If Vars is
// 0, there are 4 variables.
func Hot(p Params) []heisen.Record {
	return predictable(p, profile{vars: 4, share: 2, values: 2, guarded: 50})
}

// Locky returns a trace of threads that mostly acquire locks, up to three nested ones in the order
// of their numbers, and do little while they hold them. If Vars is 0, there is one variable for
// every 40 events. There are as many locks as variables.
func Locky(p Params) []heisen.Record {
	return predictable(p, profile{vars: max(8, p.Events/40), share: 1, values: 8, guarded: 90, deep: true})
}

// A profile has the parameters in which these traces differ.
type profile struct {
	vars    int  // default number of variables
	share   int  // number of variables that a lock protects
	values  int  // number of different values
	guarded int  // percentage of pieces of work that acquire locks
	local   int  // percentage on the thread's own variables; the others acquire no lock
	deep    bool // acquire several locks
}

// predictable interleaves the events of threads, one by one and sometimes in short bursts. Each
// thread plans one piece of work at a time.
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
	for open := true; open; { // locks are acquired in order, so some thread can continue
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
	plans  [][]heisen.Record // the next events of each thread
	memory map[heisen.Object]uint64
	holder map[heisen.Object]heisen.Thread
}

// plan plans a piece of work for a thread.
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

// step adds the next event of a thread's plan. It returns false if there is none or its lock is
// held.
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
