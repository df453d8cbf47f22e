package workload

import (
	"math/rand/v2"

	"github.com/heisen-go/heisen"
)

// Micro has the dimensions of the micro-benchmarks of "TREE and RDIT", section 5.1.3. Values below 1
// count as 1.
type Micro struct {
	Threads    int // threads besides thread 0, which starts them
	Iterations int // iterations of each thread
	Locks      int // locks that each iteration acquires, and releases in the same order
	// Burst is the number of iterations of a thread before another one, chosen at random, runs. It
	// determines how often a shared lock moves to another thread.
	Burst int
	// Sites is the number of increments in the program. Consecutive iterations use different ones.
	Sites int
	Seed  uint64
}

// SharedLocks returns the trace of figure 5.1: threads increment one variable in a loop while they
// hold all of some locks. The trace has no races.
func SharedLocks(m Micro) []heisen.Record {
	return m.generate(func(b *microBuilder, t heisen.Thread, round int) {
		b.iteration(t, round, 0)
	}, false)
}

// PrivateLocks returns the trace of figure 5.3: as in SharedLocks, but each thread has its own
// locks, and thread 0 increments the variable before it starts each thread. The increments of
// different threads race with each other.
func PrivateLocks(m Micro) []heisen.Record {
	return m.generate(func(b *microBuilder, t heisen.Thread, round int) {
		b.iteration(t, round, int(t)*b.Locks)
	}, true)
}

type microBuilder struct {
	Micro
	out []heisen.Record
}

// Sites of the micro-benchmarks.
const (
	microFork heisen.Site = 1 + iota
	microInit
	microLock
	microRead
	microWrite
	microUnlock
	microEnd
)

const microVariable = varBase

func (m Micro) generate(iteration func(b *microBuilder, t heisen.Thread, round int), initialize bool) []heisen.Record {
	m.Threads, m.Iterations = max(m.Threads, 1), max(m.Iterations, 1)
	m.Locks, m.Burst, m.Sites = max(m.Locks, 1), max(m.Burst, 1), max(m.Sites, 1)
	rng := rand.New(rand.NewPCG(m.Seed, 0x9e3779b97f4a7c15))
	b := &microBuilder{Micro: m}
	b.out = make([]heisen.Record, 0, m.Threads*(m.Iterations*(2*m.Locks+2)+8))
	var running []heisen.Thread
	left := make([]int, m.Threads+1)
	for i := 1; i <= m.Threads; i++ {
		t := heisen.Thread(i)
		if initialize {
			b.add(0, heisen.Read, microVariable, microInit)
			b.add(0, heisen.Write, microVariable, microInit)
		}
		b.add(0, heisen.Fork, heisen.Object(t), microFork)
		b.add(t, heisen.Begin, heisen.Object(t), microFork)
		running = append(running, t)
		left[t] = m.Iterations
	}
	for len(running) > 0 {
		i := rng.IntN(len(running))
		t := running[i]
		for range min(m.Burst, left[t]) {
			left[t]--
			iteration(b, t, left[t])
		}
		if left[t] == 0 {
			b.add(t, heisen.Send, signalAt(-1), microEnd)
			b.add(t, heisen.End, heisen.Object(t), microEnd)
			running[i] = running[len(running)-1]
			running = running[:len(running)-1]
		}
	}
	b.add(0, heisen.Receive, signalAt(-1), microEnd)
	return b.out
}

// iteration acquires the locks from the given one on, increments the variable, and releases the
// locks.
func (b *microBuilder) iteration(t heisen.Thread, round, first int) {
	read, write := microRead, microWrite
	if n := heisen.Site(round % b.Sites); n > 0 {
		read, write = microEnd+2*n-1, microEnd+2*n
	}
	for i := range b.Locks {
		b.add(t, heisen.Acquire, lockAt(first+i), microLock)
	}
	b.add(t, heisen.Read, microVariable, read)
	b.add(t, heisen.Write, microVariable, write)
	for i := range b.Locks {
		b.add(t, heisen.Release, lockAt(first+i), microUnlock)
	}
}

func (b *microBuilder) add(t heisen.Thread, op heisen.Op, o heisen.Object, site heisen.Site) {
	b.out = append(b.out, heisen.Record{Op: op, Thread: t, Object: o, Site: site})
}
