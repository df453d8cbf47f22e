package lockset_test

import (
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
)

// Naive versions of the detectors: sets as maps, a state for every byte, every pair of accesses, and
// reachability in a graph.

// life is an allocation epoch of a lock's address.
type life struct{ at heisen.Object }

type naiveHold struct {
	thread heisen.Thread
	shared bool
}

// naiveHolds has all holds of all locks.
type naiveHolds struct {
	lives map[heisen.Object]*life
	holds map[*life][]naiveHold
}

func newNaiveHolds() *naiveHolds {
	return &naiveHolds{map[heisen.Object]*life{}, map[*life][]naiveHold{}}
}

func (n *naiveHolds) retire(o heisen.Object) {
	delete(n.holds, n.lives[o])
	delete(n.lives, o)
}

func (n *naiveHolds) handle(r *heisen.Record) {
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		w := naiveHold{r.Thread, r.Op == heisen.AcquireShared}
		for _, h := range n.holds[n.lives[r.Object]] {
			if h.thread != r.Thread && !(h.shared && w.shared) {
				n.retire(r.Object)
				break
			}
		}
		if n.lives[r.Object] == nil {
			n.lives[r.Object] = &life{r.Object}
		}
		l := n.lives[r.Object]
		n.holds[l] = append(n.holds[l], w)
	case heisen.Release, heisen.ReleaseShared:
		l := n.lives[r.Object]
		i := slices.Index(n.holds[l], naiveHold{r.Thread, r.Op == heisen.ReleaseShared})
		if i < 0 {
			n.retire(r.Object)
			return
		}
		n.holds[l] = slices.Delete(n.holds[l], i, i+1)
	case heisen.End:
		n.end(r.Thread)
	case heisen.Join:
		if t := r.Object.Thread(); heisen.Object(t) == r.Object && t != r.Thread {
			n.end(t)
		}
	case heisen.AtomicWrite:
		n.retire(r.Object)
	case heisen.Alloc, heisen.Free:
		for o := range n.lives {
			if uint64(o-r.Object) < r.Value && o >= r.Object {
				n.retire(o)
			}
		}
	}
}

func (n *naiveHolds) end(t heisen.Thread) {
	any, _ := n.held(t)
	for l := range any {
		n.retire(l.at)
	}
}

type lives map[*life]bool

// held returns the locks that t holds in any mode, and exclusively.
func (n *naiveHolds) held(t heisen.Thread) (any, exclusive lives) {
	any, exclusive = lives{}, lives{}
	for l, holds := range n.holds {
		for _, h := range holds {
			if h.thread == t {
				any[l] = true
				if !h.shared {
					exclusive[l] = true
				}
			}
		}
	}
	return any, exclusive
}

func (s lives) addresses() (out []heisen.Object) {
	for l := range s {
		out = append(out, l.at)
	}
	slices.Sort(out)
	return out
}

func (s lives) and(other lives) lives {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(l *life, _ bool) bool { return !other[l] })
	return out
}

// naiveVariable has the attributes of the paper: lkset, rdonly, shar.
type naiveVariable struct {
	lkset         lives // nil: all locks
	written, shar bool  // written: not rdonly
	reported      bool
	lastNonEmpty  lives // lkset when it last had some, but not all
	accesses      []naiveAccess
}

type naiveAccess struct {
	heisen.Record
	at    heisen.Object
	index int // in the trace
}

// naiveViolation is what Eraser's findings say, but for the message.
type naiveViolation struct {
	event   uint64
	object  heisen.Object
	earlier heisen.Access
	locks   string
}

// naiveEraser returns all violations, with an object for every byte.
func naiveEraser(trace []heisen.Record, byObject, handOver bool) (out []naiveViolation) {
	var order *messages
	if handOver {
		order = newMessages()
	}
	holds := newNaiveHolds()
	atomic := &life{}
	bytes := map[heisen.Object]*naiveVariable{}
	type ownedBy struct {
		base     heisen.Object
		variable *naiveVariable
	}
	owner := map[heisen.Object]*ownedBy{} // by byte
	for i := range trace {
		r := &trace[i]
		any, exclusive := holds.held(r.Thread)
		holds.handle(r)
		handsOver := func(earlier int) bool { return false }
		if handOver {
			order.add(i, r, false)
			handsOver = order.reach[i].has
		}
		if r.Op == heisen.Alloc || r.Op == heisen.Free {
			fresh := &ownedBy{r.Object, &naiveVariable{}}
			for b := range r.Value {
				delete(bytes, r.Object+heisen.Object(b))
				delete(owner, r.Object+heisen.Object(b))
				if r.Op == heisen.Alloc {
					owner[r.Object+heisen.Object(b)] = fresh
				}
			}
		}
		op := accessOf(r, 0).Op
		if !op.IsAccess() {
			continue
		}
		locks := any
		if op.IsWrite() {
			locks = exclusive
		}
		if op.IsAtomic() {
			locks[atomic] = true
		}
		var run heisen.Object
		var before *ownedBy
		for b := r.Object; b < r.Object+heisen.Object(r.Size()); b++ {
			object, at := b, b
			v := bytes[b]
			if v == nil {
				v = &naiveVariable{}
				bytes[b] = v
			}
			o := owner[b]
			if byObject && o != nil {
				if o != before {
					run = b
				}
				object, at, v = o.base, run, o.variable
			}
			before = o
			if last := v.step(r.Thread, op, locks, handsOver); last != nil {
				delete(last, atomic)
				earlier := v.earlier(r.Thread)
				out = append(out, naiveViolation{
					event: uint64(i + 1), object: object, locks: fmtObjects(last.addresses()),
					earlier: heisen.Access{
						Op: accessOf(&earlier.Record, 0).Op, Thread: earlier.Thread, Object: earlier.at, Size: 1,
						Site: earlier.Site, Context: earlier.Context,
					},
				})
			}
			v.accesses = append(v.accesses, naiveAccess{*r, at, i})
		}
	}
	return out
}

// earlier returns the last access by another thread.
func (v *naiveVariable) earlier(t heisen.Thread) naiveAccess {
	for _, a := range slices.Backward(v.accesses) {
		if a.Thread != t {
			return a
		}
	}
	panic("a variable that one thread accesses is reported")
}

// step returns the last candidates if the access breaks the discipline. handsOver reports whether a
// message leads from an earlier access to this one.
func (v *naiveVariable) step(t heisen.Thread, op heisen.Op, locks lives, handsOver func(int) bool) lives {
	if v.reported || len(v.accesses) == 0 {
		return nil
	}
	if last := v.accesses[len(v.accesses)-1]; !v.shar && (last.Thread == t || handsOver(last.index)) {
		return nil
	}
	v.shar = true
	if v.lkset == nil {
		v.lkset, v.lastNonEmpty = maps.Clone(locks), lives{}
	} else if len(v.lkset) > 0 {
		v.lastNonEmpty = v.lkset
		v.lkset = v.lkset.and(locks)
	}
	if len(v.lkset) > 0 {
		v.lastNonEmpty = v.lkset
	}
	v.written = v.written || op.IsWrite()
	if len(v.lkset) == 0 && v.written {
		v.reported = true
		return maps.Clone(v.lastNonEmpty)
	}
	return nil
}
