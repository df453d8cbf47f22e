package replay

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Ways in which an object is used for synchronization.
const (
	asLock = 1 << iota
	asMessage
	asAtomic
)

// syncFinder executes the lock operations and messages of a window as observed.
type syncFinder struct {
	*Facts
	holders       *window.Locks
	uses          map[heisen.Object]int
	endedByOthers map[threadHold][]int   // the releases by other threads so far that ended such a hold
	reacquired    map[heisen.Object]bool // locks that a thread acquires while it holds them, as no lock of Go allows
}

// threadHold is the hold of a lock by a thread.
type threadHold struct {
	lock   heisen.Object
	thread heisen.Thread
}

// findSyncs finds the owners of holds, the sends of messages, unowned locks, and mixed objects: those
// that are used in several ways, and locks that are not used as locks.
func (p *Facts) findSyncs() {
	p.Owner = make([]heisen.Thread, len(p.Window.Records))
	p.Mixed = map[heisen.Object]bool{}
	p.Sends, p.changes = map[heisen.Object][]int32{}, map[heisen.Object][]int32{}
	p.EndedByOthers = map[int][]int{}
	p.Unowned = map[heisen.Object]bool{}
	f := &syncFinder{Facts: p, holders: window.NewLocks(), uses: map[heisen.Object]int{}, endedByOthers: map[threadHold][]int{},
		reacquired: map[heisen.Object]bool{}}
	for _, h := range p.Window.Held {
		op := heisen.Acquire
		if h.Shared {
			op = heisen.AcquireShared
		}
		f.acquire(&heisen.Record{Op: op, Object: h.Lock, Thread: h.Thread})
	}
	for i := range p.Window.Records {
		r := &p.Window.Records[i]
		switch r.Op {
		case heisen.Acquire, heisen.AcquireShared:
			f.acquire(r)
			if list := f.endedByOthers[threadHold{r.Object, r.Thread}]; len(list) > 0 {
				p.EndedByOthers[i] = slices.Clone(list)
			}
		case heisen.Release, heisen.ReleaseShared:
			f.release(i, r)
		case heisen.Send, heisen.Receive, heisen.Change, heisen.Observe:
			f.uses[r.Object] |= asMessage
			if r.Op == heisen.Change {
				p.changes[r.Object] = append(p.changes[r.Object], int32(i))
			}
			if window.IsSend(r.Op) {
				p.Sends[r.Object] = append(p.Sends[r.Object], int32(i))
			}
		case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
			f.uses[r.Object] |= asAtomic
		}
	}
	f.finish()
}

func (f *syncFinder) acquire(r *heisen.Record) {
	o, shared := r.Object, r.Op == heisen.AcquireShared
	f.uses[o] |= asLock
	if !window.CanAcquire(f.holders.Held[o], r.Thread, shared) {
		f.Mixed[o] = true
	}
	for _, g := range f.holders.Held[o] {
		f.reacquired[o] = f.reacquired[o] || g.Thread == r.Thread && !(g.Shared && shared)
	}
	f.holders.Apply(r)
}

func (f *syncFinder) release(i int, r *heisen.Record) {
	o := r.Object
	f.uses[o] |= asLock
	g, ok := f.holders.Released(r)
	foreign := ok && g.Thread != r.Thread
	if !ok || foreign && g.Times > 1 {
		f.Mixed[o] = true
	}
	f.Owner[i] = g.Thread
	if foreign && !g.Shared {
		f.Unowned[o] = true
	}
	if foreign {
		key := threadHold{o, g.Thread}
		f.endedByOthers[key] = append(f.endedByOthers[key], i)
	}
	f.holders.Apply(r)
}

// finish finds the mixed objects and unowned locks, once all uses are known.
func (f *syncFinder) finish() {
	for o, u := range f.uses {
		if u&(u-1) != 0 {
			f.Mixed[o] = true
		}
	}
	for o := range f.Unowned {
		if f.reacquired[o] || f.Mixed[o] || f.Rules.Literal {
			delete(f.Unowned, o)
		}
	}
	// In an unowned lock, only shared holds belong to a thread.
	for i, list := range f.EndedByOthers {
		if f.Unowned[f.Window.Records[i].Object] {
			f.EndedByOthers[i] = slices.DeleteFunc(list, func(j int) bool { return f.Window.Records[j].Op == heisen.Release })
		}
	}
}
