package racefuzz

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// Mutex models sync.Mutex. Each call is a step.
type Mutex struct{ lock }

// NewMutex makes a mutex.
func (g *G) NewMutex(name string) *Mutex { return &Mutex{g.newLock(name)} }

// Lock acquires the mutex when it is free.
func (m *Mutex) Lock(g *G) { m.lock.operate(g, opLock) }

// Unlock releases the mutex. It panics if the mutex is free.
func (m *Mutex) Unlock(g *G) { m.lock.operate(g, opUnlock) }

// RWMutex models sync.RWMutex: while a goroutine waits in Lock, no other one can RLock. Each call
// is a step.
type RWMutex struct{ lock }

// NewRWMutex makes a read-write mutex.
func (g *G) NewRWMutex(name string) *RWMutex { return &RWMutex{g.newLock(name)} }

// Lock acquires the mutex for writing.
func (m *RWMutex) Lock(g *G) { m.lock.operate(g, opLock) }

// Unlock releases the mutex after Lock. It panics if no goroutine holds it for writing.
func (m *RWMutex) Unlock(g *G) { m.lock.operate(g, opUnlock) }

// RLock acquires the mutex for reading.
func (m *RWMutex) RLock(g *G) { m.lock.operate(g, opRLock) }

// RUnlock releases the mutex after RLock. It panics if no goroutine holds it for reading.
func (m *RWMutex) RUnlock(g *G) { m.lock.operate(g, opRUnlock) }

// lock is a mutex of either kind.
type lock struct {
	run     *run
	name    string
	number  heisen.Object
	key     uint64
	writer  *G // the goroutine that holds it for writing, or waits for the readers to release it
	readers int
}

func (g *G) newLock(name string) lock {
	g.check()
	return lock{run: g.run, name: name, number: g.run.object(name, 8), key: g.newKey()}
}

func (l *lock) operate(g *G, code opCode) {
	g.own(l.run)
	g.operate(op{code: code, l: l})
}

func (l *lock) acquire(g *G) {
	l.writer = g
	if l.readers > 0 {
		g.queue()
		return
	}
	l.acquired()
}

func (l *lock) acquired() {
	l.writer.held = append(l.writer.held, l)
	l.writer.emit(heisen.Acquire, l.number)
}

func (l *lock) release(g *G) {
	if l.writer == nil || l.writer.queued {
		g.fault = "unlock of unlocked mutex " + l.name
		return
	}
	l.writer.drop(l)
	l.writer = nil
	g.emit(heisen.Release, l.number)
}

func (l *lock) releaseShared(g *G) {
	if l.readers == 0 {
		g.fault = "read-unlock of unlocked mutex " + l.name
		return
	}
	l.readers--
	g.drop(l)
	g.emit(heisen.ReleaseShared, l.number)
	if l.writer != nil && l.readers == 0 {
		l.acquired()
		l.writer.complete()
	}
}

// drop removes a lock from those that g holds. Another goroutine may have acquired it, then g does
// not hold it.
func (g *G) drop(l *lock) {
	for i := len(g.held) - 1; i >= 0; i-- {
		if g.held[i] == l {
			g.held = slices.Delete(g.held, i, i+1)
			return
		}
	}
}

// queue blocks g in its operation until another goroutine completes it.
func (g *G) queue() {
	g.queued = true
	g.run.ready = g.run.ready[:0]
}

// complete completes the operation in which g is blocked.
func (g *G) complete() {
	g.queued = false
	g.run.ready = append(g.run.ready, g)
}
