//go:build heisen_inject

package runtime

import "unsafe"

// heisenByLock has pairs of a lock and a goroutine that holds it, or waits for it. They are sorted by lock. Of those with a lock, goroutines
// that hold it alone come first, then writers that wait, then the others; and of each kind, goroutines that wait for locks.
// It is used on the system stack, while no goroutine runs. Its memory is never the heap's.
type heisenByLock struct {
	pairs  uintptr
	n      uintptr
	room   uintptr
	more   bool // a goroutine may hold other locks than are known
	failed bool // no memory
}

type heisenLockPair struct {
	lock uintptr
	gp   guintptr
	rank uint64 // among those with the lock
}

// What is added to the rank of a goroutine.
const (
	heisenRankGoes   = 1 << 61 // it does not wait for locks
	heisenRankWriter = 1 << 62 // it waits until the readers have released the lock, and keeps new ones out
	heisenRankShared = 1 << 63 // it is a reader
)

// heisenLockHolders returns who holds which locks.
func heisenLockHolders() (t heisenByLock) {
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		if h == nil || h.locksHeld == nil {
			return
		}
		k := h.locksHeld
		t.more = t.more || k.count > heisenMaxHeld
		for i := range min(k.count, heisenMaxHeld) {
			if l := &k.held[i]; k.holds(l.lock, l.shared) {
				rank := uint64(0)
				if l.shared {
					rank = heisenRankShared
				}
				t.add(l.lock, gp, rank)
			}
		}
	})
	t.sort()
	return t
}

// heisenLockWaiters returns who waits for which locks, of those that code of the program locks.
func heisenLockWaiters() (t heisenByLock) {
	forEachGRace(func(gp *g) {
		if lock := heisenAwaitedLock(gp); lock != 0 {
			t.add(lock, gp, 0)
		}
	})
	t.sort()
	return t
}

// addWriters adds those that wait as writers until readers have released a lock.
func (t *heisenByLock) addWriters() {
	forEachGRace(func(gp *g) {
		if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil && gp.waitreason == waitReasonSyncRWMutexLock && heisenLocks(gp) {
			t.add(uintptr(h.task.on), gp, heisenRankWriter)
		}
	})
	t.sort()
}

func (t *heisenByLock) free() {
	if t.pairs != 0 {
		heisenUnmap(unsafe.Pointer(t.pairs), t.room*unsafe.Sizeof(heisenLockPair{}))
	}
}

func (t *heisenByLock) at(i uintptr) *heisenLockPair {
	return (*heisenLockPair)(unsafe.Pointer(t.pairs + i*unsafe.Sizeof(heisenLockPair{})))
}

func (t *heisenByLock) add(lock uintptr, gp *g, rank uint64) {
	if t.n == t.room {
		old := *t
		room := max(2*t.room, 1<<10)
		if t.pairs = uintptr(heisenReserve(room * unsafe.Sizeof(heisenLockPair{}))); t.pairs == 0 {
			*t = old
			t.failed = true
			return
		}
		t.room = room
		if old.n > 0 {
			memmove(unsafe.Pointer(t.pairs), unsafe.Pointer(old.pairs), old.n*unsafe.Sizeof(heisenLockPair{}))
		}
		old.free()
	}
	t.n++
	p := t.at(t.n - 1)
	p.lock, p.rank = lock, rank|gp.goid
	p.gp.set(gp)
	if !heisenLocks(gp) {
		p.rank |= heisenRankGoes
	}
}

// sort is heapsort: it needs no memory, and its stack is small.
func (t *heisenByLock) sort() {
	for i := t.n / 2; i > 0; i-- {
		t.sink(i-1, t.n)
	}
	for n := t.n; n > 1; n-- {
		first, last := t.at(0), t.at(n-1)
		*first, *last = *last, *first
		t.sink(0, n-1)
	}
}

// sink moves a pair down in the heap of the first n pairs, the greatest of which is on top.
func (t *heisenByLock) sink(i, n uintptr) {
	for {
		child := 2*i + 1
		if child >= n {
			return
		}
		if child+1 < n && t.at(child).before(t.at(child+1)) {
			child++
		}
		if !t.at(i).before(t.at(child)) {
			return
		}
		*t.at(i), *t.at(child) = *t.at(child), *t.at(i)
		i = child
	}
}

func (p *heisenLockPair) before(q *heisenLockPair) bool {
	return p.lock < q.lock || p.lock == q.lock && p.rank < q.rank
}

// first returns the index of the first pair of a lock, or where it would be.
func (t *heisenByLock) first(lock uintptr) (from uintptr) {
	for to := t.n; from < to; {
		if mid := from + (to-from)/2; t.at(mid).lock < lock {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// end returns the index behind the last pair of a lock whose first one is at index from, or would be.
func (t *heisenByLock) end(from, lock uintptr) uintptr {
	for from < t.n && t.at(from).lock == lock {
		from++
	}
	return from
}

// awaited returns a goroutine that holds the lock for which another one waits, or keeps readers out of it. It is nil if none is known. Of
// several, it is one that waits for a lock, if it matters not which.
func (t *heisenByLock) awaited(gp *g) (holder *g) {
	lock := uintptr((*heisenG)(unsafe.Pointer(gp.racectx)).task.on)
	reads := gp.waitreason == waitReasonSyncRWMutexRLock
	for i := t.first(lock); i < t.n && t.at(i).lock == lock; i++ {
		p := t.at(i)
		switch {
		case reads && p.rank&heisenRankShared != 0:
			return nil
		case p.gp.ptr() != gp || p.rank&heisenRankWriter == 0:
			return p.gp.ptr()
		}
	}
	return nil
}
