// Package workload generates traces: large ones with a known character for benchmarks, and small
// random ones with every op for differential tests. Equal parameters give equal traces.
package workload

import (
	"math/rand/v2"

	"github.com/heisen-go/heisen"
)

// Params are the dimensions of a trace for benchmarks. Values below 1 count as 1.
type Params struct {
	Threads int // threads besides thread 0, which starts them
	Vars    int // number of variables
	Events  int // minimum number of events; a trace ends when its threads hold no locks
	Seed    uint64
}

// The addresses of objects. As in recordings of programs, all objects are in memory, locks too.
// Variables are 8 bytes apart, synchronization objects 64.
const (
	varBase    heisen.Object = 1 << 20
	lockBase   heisen.Object = 1 << 40
	signalBase heisen.Object = 1 << 41
)

// LockProtected returns a trace of threads that access shared variables under their locks. Each
// lock protects 8 variables. Critical sections have about 10 accesses, and between them are some
// accesses to variables of the thread's own. The trace has no races.
func LockProtected(p Params) []heisen.Record {
	b := newBuilder(p)
	locks := max(1, p.Vars/16)
	for len(b.out) < p.Events {
		t := b.thread()
		lock := b.rng.IntN(locks)
		b.add(t, heisen.Acquire, lockAt(lock))
		for range 6 + b.rng.IntN(8) {
			b.access(t, lock*8+b.rng.IntN(8), 3)
		}
		b.add(t, heisen.Release, lockAt(lock))
		for range b.rng.IntN(4) {
			b.access(t, locks*8+int(t)*8+b.rng.IntN(8), 2)
		}
	}
	return b.end()
}

// SyncHeavy returns a trace half of which is synchronization. A critical section has a read and a
// write of the one variable that its lock protects. Instead of every eighth critical section, a
// thread sends a message to another one or makes an atomic update. The trace has no races.
func SyncHeavy(p Params) []heisen.Record {
	b := newBuilder(p)
	for len(b.out) < p.Events {
		t := b.thread()
		i := b.rng.IntN(b.Vars)
		switch b.rng.IntN(16) {
		case 0:
			b.add(t, heisen.Send, signalAt(i))
			b.add(b.thread(), heisen.Receive, signalAt(i))
		case 1:
			b.add(t, heisen.AtomicUpdate, signalAt(i)+8)
		default:
			b.add(t, heisen.Acquire, lockAt(i))
			b.add(t, heisen.Read, varAt(i))
			b.add(t, heisen.Write, varAt(i))
			b.add(t, heisen.Release, lockAt(i))
		}
	}
	return b.end()
}

// ThreadLocal returns a trace of threads that access variables of their own, in bursts, and acquire
// a lock of their own about every thousand accesses. The trace has no races.
func ThreadLocal(p Params) []heisen.Record {
	b := newBuilder(p)
	own := max(1, b.Vars/b.Threads)
	for len(b.out) < p.Events {
		t := b.thread()
		base := int(t) * own
		for range 64 + b.rng.IntN(128) {
			b.access(t, base+b.rng.IntN(own), 3)
		}
		if b.rng.IntN(8) == 0 {
			b.add(t, heisen.Acquire, lockAt(int(t)))
			b.add(t, heisen.Release, lockAt(int(t)))
		}
	}
	return b.end()
}

// ReadShared returns a trace of threads that read, in bursts, variables that thread 0 wrote before
// it started them. They send a message about every thousand reads. The trace has no races.
func ReadShared(p Params) []heisen.Record {
	b := newBuilder(p)
	for len(b.out) < p.Events {
		t := b.thread()
		for range 16 + b.rng.IntN(32) {
			b.add(t, heisen.Read, varAt(b.rng.IntN(b.Vars)))
		}
		if b.rng.IntN(32) == 0 {
			b.add(t, heisen.Send, signalAt(int(t)))
		}
	}
	return b.end()
}

func varAt(i int) heisen.Object    { return varBase + 8*heisen.Object(i) }
func lockAt(i int) heisen.Object   { return lockBase + 64*heisen.Object(i) }
func signalAt(i int) heisen.Object { return signalBase + 64*heisen.Object(i) }

// A builder makes a trace in which thread 0 initializes all variables, starts the other threads and
// waits for them at the end.
type builder struct {
	Params
	rng *rand.Rand
	out []heisen.Record
}

func newBuilder(p Params) *builder {
	p.Threads, p.Vars, p.Events = max(p.Threads, 1), max(p.Vars, 1), max(p.Events, 1)
	b := &builder{Params: p, rng: rand.New(rand.NewPCG(p.Seed, 0x9e3779b97f4a7c15))}
	b.out = make([]heisen.Record, 0, p.Events+p.Vars+8*p.Threads+256)
	for i := range p.Vars {
		b.add(0, heisen.Write, varAt(i))
	}
	for t := 1; t <= p.Threads; t++ {
		b.add(0, heisen.Fork, heisen.Object(t))
		b.add(heisen.Thread(t), heisen.Begin, heisen.Object(t))
	}
	return b
}

// thread picks one of the started threads.
func (b *builder) thread() heisen.Thread { return heisen.Thread(1 + b.rng.IntN(b.Threads)) }

// access adds a read or a write of a variable. Reads are the given number of times as frequent.
func (b *builder) access(t heisen.Thread, v, reads int) {
	if b.rng.IntN(reads+1) == 0 {
		b.add(t, heisen.Write, varAt(v))
	} else {
		b.add(t, heisen.Read, varAt(v))
	}
}

// add adds an event. Its site depends on the op, the object, and whether the thread is odd.
func (b *builder) add(t heisen.Thread, op heisen.Op, o heisen.Object) {
	site := 1 + (uint32(o>>3)%61*uint32(heisen.NumOps)+uint32(op))*2 + uint32(t%2)
	r := heisen.Record{Op: op, Thread: t, Object: o, Site: heisen.Site(site)}
	if op == heisen.Acquire || op == heisen.Release {
		r.Flags = heisen.LockWord
	}
	b.out = append(b.out, r)
}

func (b *builder) end() []heisen.Record {
	for t := 1; t <= b.Threads; t++ {
		b.add(heisen.Thread(t), heisen.Send, signalAt(-1))
		b.add(heisen.Thread(t), heisen.End, heisen.Object(t))
	}
	b.add(0, heisen.Receive, signalAt(-1))
	return b.out
}
