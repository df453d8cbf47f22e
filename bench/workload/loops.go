package workload

import (
	"math/rand/v2"

	"github.com/heisen-go/heisen"
)

// Loops returns a trace of threads that run the same few pieces of code in loops, as programs do.
// They repeat the same accesses, with and without locks, between messages, atomic operations and
// the steps of other threads. It uses these fields of s: Threads, Events (a maximum), Vars, Syncs,
// Ranges, Lives and Sites (the number of sites; with 0 every place of the code has its own site).
//
// Traces are well-formed, except that a thread may wait forever for a lock. Objects that are locks
// are nothing else.
func Loops(rng *rand.Rand, s Small) []heisen.Record {
	g := &loops{Small: s, rng: rng, site: 1}
	for range 1 + rng.IntN(3) {
		g.bodies = append(g.bodies, g.body(1+rng.IntN(4), 0))
	}
	for t := range s.Threads {
		g.threads = append(g.threads, g.program(t))
	}
	g.locks = make([]lockState, s.Syncs)
	g.run()
	return g.out
}

type loops struct {
	Small
	rng     *rand.Rand
	site    heisen.Site
	bodies  [][]heisen.Record
	threads []*looping
	locks   []lockState
	out     []heisen.Record
}

type looping struct {
	code    []heisen.Record // the remaining steps
	started bool
	ended   bool
}

// body returns a piece of code of n statements. The Object of a Fork or Join is filled in later.
func (g *loops) body(n, depth int) (code []heisen.Record) {
	at := func(r heisen.Record) heisen.Record {
		r.Site = g.site
		if g.Sites > 0 {
			r.Site = heisen.Site(1 + g.rng.IntN(g.Sites))
		}
		g.site++
		return r
	}
	for range n {
		switch k := g.rng.IntN(16); {
		case k < 7:
			r := heisen.Record{Op: pick(g.rng, heisen.Read, heisen.Write), Object: g.variable()}
			if g.Ranges && g.rng.IntN(2) == 0 {
				r.Object += heisen.Object(g.rng.IntN(4))
				r.Len = uint16(1 + g.rng.IntN(11))
			}
			code = append(code, at(r))
		case k < 12 && depth < 2:
			lock := lockAt(g.rng.IntN(g.Syncs))
			from, to := heisen.Acquire, heisen.Release
			if g.rng.IntN(3) == 0 {
				from, to = heisen.AcquireShared, heisen.ReleaseShared
			}
			taken := false // at an outer level
			inner := g.body(1+g.rng.IntN(3), depth+1)
			for _, r := range inner {
				taken = taken || r.Object == lock
			}
			if !taken {
				code = append(code, at(heisen.Record{Op: from, Object: lock}))
			}
			code = append(code, inner...)
			if !taken {
				code = append(code, at(heisen.Record{Op: to, Object: lock}))
			}
		case k == 12:
			code = append(code, at(heisen.Record{Op: pick(g.rng, heisen.Send, heisen.Receive), Object: signalAt(g.rng.IntN(g.Syncs))}))
		case k == 13:
			code = append(code, at(heisen.Record{
				Op: pick(g.rng, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate), Object: g.variable(),
			}))
		case k == 14 && depth == 0:
			code = append(code, at(heisen.Record{Op: pick(g.rng, heisen.Fork, heisen.Join)}))
		case k == 15 && g.Lives:
			code = append(code, at(heisen.Record{
				Op: pick(g.rng, heisen.Alloc, heisen.Free), Object: g.variable() + heisen.Object(g.rng.IntN(8)), Value: uint64(1 + g.rng.IntN(12)),
			}))
		}
	}
	return code
}

func (g *loops) variable() heisen.Object { return heisen.Object(8 * (1 + g.rng.IntN(g.Vars))) }

// program returns a thread that runs some of the bodies a few times each.
func (g *loops) program(t int) *looping {
	p := &looping{started: t == 0 || g.rng.IntN(3) == 0}
	for range 1 + g.rng.IntN(3) {
		body := g.bodies[g.rng.IntN(len(g.bodies))]
		for range 1 + g.rng.IntN(6) {
			p.code = append(p.code, body...)
		}
	}
	return p
}

// run runs the threads in bursts.
func (g *loops) run() {
	t := 0
	for idle := 0; len(g.out) < g.Events && idle < 8*g.Threads; {
		if g.rng.IntN(6) == 0 {
			t = g.rng.IntN(g.Threads)
		}
		if g.step(t) {
			idle = 0
		} else {
			idle++
			t = g.rng.IntN(g.Threads)
		}
	}
}

// step makes the next step of a thread and reports whether that was possible.
func (g *loops) step(t int) bool {
	p := g.threads[t]
	switch {
	case !p.started || p.ended:
		return false
	case len(p.code) == 0:
		p.ended = true
		if g.rng.IntN(2) == 0 {
			g.add(t, heisen.Record{Op: heisen.End, Object: heisen.Object(t), Site: g.site})
		}
		return true
	}
	r := p.code[0]
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared, heisen.Release, heisen.ReleaseShared:
		if !g.lock(t, r) {
			return false
		}
	case heisen.Fork, heisen.Join:
		other := -1
		for i, q := range g.threads {
			if r.Op == heisen.Fork && !q.started || r.Op == heisen.Join && q.ended && i != t {
				other = i
			}
		}
		if other < 0 {
			p.code = p.code[1:]
			return true
		}
		g.threads[other].started = true
		r.Object = heisen.Object(other)
	}
	p.code = p.code[1:]
	g.add(t, r)
	return true
}

func (g *loops) add(t int, r heisen.Record) {
	r.Thread = heisen.Thread(t)
	g.out = append(g.out, r)
}

// lock makes a thread acquire or release a lock and reports whether that was possible.
func (g *loops) lock(t int, r heisen.Record) bool {
	var l *lockState
	for i := range g.locks {
		if lockAt(i) == r.Object {
			l = &g.locks[i]
		}
	}
	switch r.Op {
	case heisen.Acquire:
		if l.writer != 0 || len(l.readers) > 0 {
			return false
		}
		l.writer = t + 1
	case heisen.AcquireShared:
		if l.writer != 0 {
			return false
		}
		l.readers = append(l.readers, t)
	case heisen.Release:
		l.writer = 0
	case heisen.ReleaseShared:
		for i, reader := range l.readers {
			if reader == t {
				l.readers = append(l.readers[:i], l.readers[i+1:]...)
				break
			}
		}
	}
	return true
}
