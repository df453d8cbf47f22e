package confirm

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
	uses    map[heisen.Object]map[heisen.Thread]use // the latest one of each thread
	looked  map[heisen.Thread]use                   // the latest read of each thread, of the object on
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
	maxUsersKept = 64
	maxUsers     = 4
)

// channelSize is the size of the part of a channel that has the objects of its events: the counts of
// sent and received elements, and what stands for the channel as a whole.
const channelSize = 64

func newUsedObjects(symbols *heisen.Symbols) *usedObjects {
	return &usedObjects{symbols: symbols, uses: map[heisen.Object]map[heisen.Thread]use{}, looked: map[heisen.Thread]use{}, ended: map[heisen.Thread]bool{}}
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
		of := u.uses[r.Object]
		if of == nil {
			of = map[heisen.Thread]use{}
			u.uses[r.Object] = of
		}
		tried := r.Op == heisen.Observe
		before, known := of[r.Thread]
		if tried && (len(u.symbols.Site(r.Site).Frames) == 0 || known && before.site == r.Site && !before.tried) {
			return // a part of something else, such as of learning that a channel is closed
		}
		if known || len(of) < maxUsersKept {
			of[r.Thread] = u.placed(use{thread: r.Thread, site: r.Site, calls: r.Context, at: u.events, tried: tried}, r.Object)
		}
	case heisen.Begin:
		delete(u.ended, r.Thread)
	case heisen.End:
		u.ended[r.Thread] = true
	case heisen.Alloc:
		u.forget(r.Object, r.Value)
	}
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
		maps.DeleteFunc(u.uses, func(o heisen.Object, _ map[heisen.Thread]use) bool { return o >= start && uint64(o-start) < size })
		return
	}
	for o := start &^ (apart - 1); o < start+heisen.Object(size); o += apart {
		delete(u.uses, o)
	}
}

// users returns the uses of the objects in memory of some size at each of several starts by other
// threads, the latest use or attempt of each thread, and the latest ones first.
func (u *usedObjects) users(of heisen.Thread, size uint64, starts ...heisen.Object) (all []use) {
	latest := map[heisen.Thread]use{}
	for _, start := range starts {
		for o := start; uint64(o-start) < size; o++ {
			for _, one := range u.uses[o] {
				if one.thread != of && one.at > latest[one.thread].at {
					latest[one.thread] = one
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b use) int { return cmp.Compare(b.at, a.at) })
}

// wait returns since when a goroutine waits, and who has used what it waits for. It is nil in executions
// without a schedule.
func (h *heldLocks) wait(g *recorder.Blocked, resolver *Resolver) *report.Wait {
	if !h.scheduled {
		return nil
	}
	w := &report.Wait{Step: g.Step, Virtual: g.Clock}
	if h.used == nil {
		return w
	}
	reason, _, _ := strings.Cut(g.Reason, " (")
	var uses []use
	holds := false
	switch reason {
	case "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock":
		uses, holds = h.holders(g, reason == "sync.RWMutex.RLock"), true
	case "sync.WaitGroup.Wait", "sync.Cond.Wait":
		uses = h.used.users(g.Thread, 1, g.Object)
	case "chan send", "chan receive":
		if g.Object == 0 {
			return w
		}
		uses = h.used.users(g.Thread, channelSize, g.Object)
	case "select":
		uses = h.used.users(g.Thread, channelSize, g.Channels...)
	default:
		return w
	}
	if holds && len(uses) == 0 {
		return w // a reader behind a writer that waits
	}
	w.Users = []report.User{}
	for _, one := range uses[:min(len(uses), maxUsers)] {
		where, _ := resolver.inProgram(heisen.Access{Thread: one.thread, Object: g.Object, Site: one.site, Context: one.calls}, h.symbols)
		where.Op, where.Object = heisen.Invalid, g.Object
		at := resolver.resolve(heisen.Finding{Accesses: []heisen.Access{where}}, h.symbols).Accesses[0]
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
		w.Users = append(w.Users, user)
	}
	return w
}

// holders returns the threads that hold the lock for which a goroutine waits, itself included, with the
// places where they have acquired it. A reader waits for no readers.
func (h *heldLocks) holders(g *recorder.Blocked, reads bool) (all []use) {
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
