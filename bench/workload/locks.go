package workload

import "github.com/heisen-go/heisen"

// NestedLocks returns a trace of threads that acquire the lock of a group and then, while they hold
// it, one or two of the locks in the group. There are Vars locks, and every hundredth is the lock
// of a group. Every eighth time, a thread then sends or receives a message. All threads acquire the
// locks in the same order, so no deadlock is possible.
func NestedLocks(p Params) []heisen.Record {
	b := newBuilder(p)
	for len(b.out) < p.Events {
		t := b.thread()
		group := b.rng.IntN(max(1, b.Vars/100)) * 100
		b.nested(t, group, group+1+b.rng.IntN(50), group+51+b.rng.IntN(49))
		switch b.rng.IntN(16) {
		case 0:
			b.add(t, heisen.Send, signalAt(b.rng.IntN(16)))
		case 1:
			b.add(t, heisen.Receive, signalAt(b.rng.IntN(16)))
		}
	}
	return b.end()
}

// OrderedPairs returns a trace of threads that acquire two of Vars locks in the order of their
// numbers, like the locks of two accounts in a transfer. Nearly every pair is new. No deadlock is
// possible.
func OrderedPairs(p Params) []heisen.Record {
	b := newBuilder(p)
	for len(b.out) < p.Events {
		i, j := b.rng.IntN(b.Vars), b.rng.IntN(b.Vars)
		if i != j {
			b.nested(b.thread(), min(i, j), max(i, j))
		}
	}
	return b.end()
}

// GatedPairs returns a trace of threads that acquire two of Vars locks in any order while they hold
// one gate lock, so no deadlock is possible.
func GatedPairs(p Params) []heisen.Record {
	b := newBuilder(p)
	for len(b.out) < p.Events {
		i, j := b.rng.IntN(b.Vars), b.rng.IntN(b.Vars)
		if i != j {
			b.nested(b.thread(), -1, i, j)
		}
	}
	return b.end()
}

// nested adds acquisitions of locks and then their releases in reverse order.
func (b *builder) nested(t heisen.Thread, locks ...int) {
	for _, l := range locks {
		b.add(t, heisen.Acquire, lockAt(l))
	}
	for i := range locks {
		b.add(t, heisen.Release, lockAt(locks[len(locks)-1-i]))
	}
}

// SharedObjects returns a trace of threads that allocate objects of eight words at the addresses of
// earlier ones, fill them in and then share them. The first word of an object is the lock that
// protects it. All objects together have Vars words. The trace has no races and no violations of
// the locking discipline.
func SharedObjects(p Params) []heisen.Record {
	b := newBuilder(p)
	const words = 8
	objects := max(1, b.Vars/words)
	for len(b.out) < p.Events {
		t := b.thread()
		first := b.rng.IntN(objects) * words
		lock := varAt(first)
		if b.rng.IntN(8) == 0 {
			b.add(t, heisen.Alloc, lock)
			b.out[len(b.out)-1].Value = 8 * words
			for i := 1; i < words; i++ {
				b.add(t, heisen.Write, varAt(first+i))
			}
			continue
		}
		b.add(t, heisen.Acquire, lock)
		for range 2 + b.rng.IntN(6) {
			b.access(t, first+1+b.rng.IntN(words-1), 3)
		}
		b.add(t, heisen.Release, lock)
	}
	return b.end()
}
