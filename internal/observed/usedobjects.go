package observed

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// usedObjects tracks which threads have used the channels, wait groups and condition variables of an
// execution, from its events. A report says of a goroutine that waits for ever who might have ended that.
// It needs the states that recorder.Everything sends.
type usedObjects struct {
	symbols *heisen.Symbols
	uses    map[heisen.Object]map[heisen.Thread][]use // of each thread the latest one at each place, the latest last
	dropped map[heisen.Object]bool                    // objects with uses that are not kept
	looked  map[heisen.Thread]use                     // the latest read of each thread, of the object on
	ended   map[heisen.Thread]bool
	events  uint64
}

// use is an operation on an object.
type use struct {
	thread heisen.Thread
	site   heisen.Site
	calls  heisen.Context // that have led there, if they are known
	at     uint64         // number of the event
	tried  bool           // the thread has looked at the object, and could not use it
	on     heisen.Object  // of a read
}

// Bounds on what is kept and told of an object.
const (
	maxUsersKept  = 64
	maxPlacesKept = 8 // of a user
	maxUsers      = 4
)

// channelSize is the size of the part of a channel that has the objects of its events: the counts of
// sent and received elements, and what stands for the channel as a whole.
const channelSize = 64

func newUsedObjects(symbols *heisen.Symbols) *usedObjects {
	return &usedObjects{symbols: symbols, uses: map[heisen.Object]map[heisen.Thread][]use{}, dropped: map[heisen.Object]bool{}, looked: map[heisen.Thread]use{}, ended: map[heisen.Thread]bool{}}
}

func (u *usedObjects) handle(r *heisen.Record) {
	u.events++
	switch r.Op {
	case heisen.Read:
		u.looked[r.Thread] = use{thread: r.Thread, site: r.Site, calls: r.Context, on: r.Object}
	case heisen.Send, heisen.Receive, heisen.Change, heisen.Observe:
		if u.isWait(r.Site) {
			return
		}
		u.add(r)
	case heisen.Begin:
		delete(u.ended, r.Thread)
	case heisen.End:
		u.ended[r.Thread] = true
	case heisen.Alloc:
		u.forget(r.Object, r.Value)
	}
}

// add adds an operation on an object, unless it is a part of another one, such as of learning that a channel is closed.
func (u *usedObjects) add(r *heisen.Record) {
	of := u.uses[r.Object]
	if of == nil {
		of = map[heisen.Thread][]use{}
		u.uses[r.Object] = of
	}
	all, known := of[r.Thread]
	tried := r.Op == heisen.Observe
	if tried && (len(u.symbols.Site(r.Site).Frames) == 0 || known && all[len(all)-1].site == r.Site && !all[len(all)-1].tried) {
		return
	}
	if !known && len(of) == maxUsersKept {
		u.dropped[r.Object] = true
		return
	}
	one := u.placed(use{thread: r.Thread, site: r.Site, calls: r.Context, at: u.events, tried: tried}, r.Object)
	all = slices.DeleteFunc(all, func(before use) bool { return before.site == one.site && before.tried == tried })
	if len(all) == maxPlacesKept {
		u.dropped[r.Object] = true
		all = slices.Delete(all, 0, 1)
	}
	of[r.Thread] = append(all, one)
}

// placed returns a use with its place. A goroutine that was woken in an operation on a channel has none there. But the
// runtime has read the channel where the goroutine began it, and that is the last thing that the goroutine did before.
func (u *usedObjects) placed(one use, object heisen.Object) use {
	if len(u.symbols.Site(one.site).Frames) > 0 {
		return one
	}
	if began, known := u.looked[one.thread]; known && began.on-object < channelSize || known && object-began.on < channelSize {
		one.site, one.calls = began.site, began.calls
	}
	return one
}

// isWait reports whether a place is one at which a goroutine waits for a WaitGroup or Cond. That releases
// nobody.
func (u *usedObjects) isWait(site heisen.Site) bool {
	for _, f := range u.symbols.Site(site).Frames {
		if !strings.HasPrefix(f.Func, "sync.") {
			return false
		}
		if strings.HasSuffix(f.Func, ").Wait") {
			return true
		}
	}
	return false
}

// forget forgets the objects in memory that was allocated anew.
func (u *usedObjects) forget(start heisen.Object, size uint64) {
	const apart = 4 // bytes between objects, at least
	if size/apart > uint64(len(u.uses)) {
		forgotten := func(o heisen.Object) bool { return o >= start && uint64(o-start) < size }
		maps.DeleteFunc(u.uses, func(o heisen.Object, _ map[heisen.Thread][]use) bool { return forgotten(o) })
		maps.DeleteFunc(u.dropped, func(o heisen.Object, _ bool) bool { return forgotten(o) })
		return
	}
	for o := start &^ (apart - 1); o < start+heisen.Object(size); o += apart {
		delete(u.uses, o)
		delete(u.dropped, o)
	}
}

// usesOf returns the uses of the objects in memory of some size by other threads, the latest one of each thread at each place, and
// whether these are all.
func (u *usedObjects) usesOf(start heisen.Object, size uint64, of heisen.Thread) (all []use, complete bool) {
	complete = true
	for o := start; uint64(o-start) < size; o++ {
		for thread, some := range u.uses[o] {
			if thread != of {
				all = append(all, some...)
			}
		}
		complete = complete && !u.dropped[o]
	}
	return all, complete
}

// latestOfEach returns the latest one of each thread's uses, and the latest ones first.
func latestOfEach(uses []use) []use {
	latest := map[heisen.Thread]use{}
	for _, one := range uses {
		if one.at > latest[one.thread].at {
			latest[one.thread] = one
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b use) int { return cmp.Compare(b.at, a.at) })
}

// wait returns since when a goroutine waits, and who has used what it waits for. It is nil in executions
// without a schedule.
func (h *HeldLocks) wait(g *recorder.Blocked, resolver *Resolver) *report.Wait {
	if !h.scheduled {
		return nil
	}
	w := &report.Wait{Step: g.Step, Virtual: g.Clock}
	if h.used == nil {
		return w
	}
	reason, _, _ := strings.Cut(g.Reason, " (")
	switch reason {
	case "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock":
		// A reader behind a writer that waits has no holders.
		w.Users = h.users(h.holders(g, reason == "sync.RWMutex.RLock"), true, g, resolver)
	default:
		if uses, known := h.usesFor(g, resolver); known {
			w.Missing = uses.missing
			w.Users = append([]report.User{}, h.users(uses.told(), false, g, resolver)...)
		}
	}
	return w
}

// users returns the threads of uses, of which all hold the lock for which a goroutine waits, or none.
func (h *HeldLocks) users(uses []use, holds bool, g *recorder.Blocked, resolver *Resolver) (all []report.User) {
	for _, one := range uses[:min(len(uses), maxUsers)] {
		where, called := resolver.InProgram(heisen.Access{Thread: one.thread, Object: g.Object, Site: one.site, Context: one.calls}, h.symbols)
		where.Op, where.Object = heisen.Invalid, g.Object
		if called == "" && !holds {
			where.Op = heisen.Send // also for what stands on the line besides
		}
		at := resolver.Resolve(heisen.Finding{Accesses: []heisen.Access{where}}, h.symbols).Accesses[0]
		user := report.User{Thread: one.thread, Goroutine: at.Goroutine, Test: at.Test, Holds: holds, Tried: one.tried, Ended: h.used.ended[one.thread]}
		if holds {
			user.Test = cmp.Or(h.symbols.Task(one.thread, h.calls[one.thread]), user.Test)
		}
		if len(h.symbols.Site(one.site).Frames) > 0 {
			user.Site = at.Site
			if !holds {
				user.Source = at.Source
			}
		}
		all = append(all, user)
	}
	return all
}

// holders returns the threads that hold the lock for which a goroutine waits, itself included, with the
// places where they have acquired it. A reader waits for no readers.
func (h *HeldLocks) holders(g *recorder.Blocked, reads bool) (all []use) {
	if h.by == nil {
		h.by = map[heisen.Object][]holding{}
		for _, thread := range slices.Sorted(maps.Keys(h.locks)) {
			for _, l := range h.symbols.Locks(h.symbols.Context(heisen.Cursor{Locks: h.locks[thread].Locks})) {
				h.by[l.Lock] = append(h.by[l.Lock], holding{use{thread: thread, site: l.Site}, l.Shared})
			}
		}
	}
	for _, holder := range h.by[g.Object] {
		if !reads || !holder.shared {
			all = append(all, holder.use)
		}
	}
	return all
}
