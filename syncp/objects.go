package syncp

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// uses are the ways in which an object synchronizes.
type uses uint8

const (
	asLock uses = 1 << iota
	asMessage
	asAtomic
)

// object is a synchronization object in one allocation epoch.
type object struct {
	number  uint32
	address heisen.Object
	uses    uses
	ordered bool   // it keeps the order of all its events, from some event on
	last    prefix // if it is ordered: its latest event
	alloc   prefix // the allocation of its memory

	sections uint32
	holders  []holder
	place    map[number]int32 // in holders; nil if there are few
	holds    []hold           // that have not ended

	sends, changes []prefix // the latest one of each thread
	touched        []prefix // likewise: the latest event of any kind

	waiting []*acquirer // the acquisitions of other locks while this one is held
}

// holder has the sections of a lock by one thread.
type holder struct {
	thread   number
	sections []int32
}

// hold is a section that has not ended.
type hold struct {
	thread  number
	section int32
	shared  bool
}

// objects has all synchronization objects.
type objects struct {
	all       []*object              // by number; nil if its memory was allocated or freed
	byAddress *shadow.Memory[uint32] // numbers plus 1
}

// find returns the object at an address, or nil.
func (h *objects) find(o heisen.Object) *object {
	if n := h.byAddress.Peek(o); n != nil && *n > 0 {
		return h.all[*n-1]
	}
	return nil
}

// at returns the object at an address, a new one if there is none.
func (h *objects) at(o heisen.Object) (found *object, isNew bool) {
	n := h.byAddress.At(o)
	if *n > 0 {
		return h.all[*n-1], false
	}
	*n = uint32(len(h.all)) + 1
	found = &object{number: *n - 1, address: o}
	h.all = append(h.all, found)
	return found, true
}

// fewHolders is the number of threads up to which those with sections of a lock are searched one by one.
const fewHolders = 8

// holderOf returns the holder of a thread, a new one if there is none.
func (o *object) holderOf(t number) *holder {
	if o.place != nil {
		if i, ok := o.place[t]; ok {
			return &o.holders[i]
		}
	} else {
		for i := range o.holders {
			if o.holders[i].thread == t {
				return &o.holders[i]
			}
		}
	}
	if o.place == nil && len(o.holders) == fewHolders {
		o.place = map[number]int32{}
		for i := range o.holders {
			o.place[o.holders[i].thread] = int32(i)
		}
	}
	if o.place != nil {
		o.place[t] = int32(len(o.holders))
	}
	o.holders = append(o.holders, holder{thread: t})
	return &o.holders[len(o.holders)-1]
}

// note replaces the prefix of a thread in a list with one for each thread.
func note(list []prefix, p prefix) []prefix {
	for i := range list {
		if list[i].thread == p.thread {
			list[i] = p
			return list
		}
	}
	return append(list, p)
}

// use returns the object of a synchronization event of t, which is next. An object that is used in a second way
// keeps the order of its events from now on.
func (d *Detector) use(t *thread, r *heisen.Record, way uses) *object {
	o, isNew := d.objects.at(r.Object)
	if isNew {
		o.alloc = d.allocations.covering(r.Object)
		if way != asAtomic && d.hasAtomics(r.Object) {
			o.uses |= asAtomic
		}
	}
	d.threads.learn(t, o.alloc, t.events)
	if o.uses |= way; o.uses != way && !o.ordered {
		d.keepOrder(t, o)
	}
	if o.ordered {
		d.threads.learn(t, o.last, t.events)
		o.last = prefix{t.number, t.events + 1}
	}
	o.touched = note(o.touched, prefix{t.number, t.events + 1})
	return o
}

// keepOrder makes an object keep the order of its events. The present event of t comes after all before it.
func (d *Detector) keepOrder(t *thread, o *object) {
	o.ordered = true
	d.threads.learnAll(t, t.events)
	for _, h := range o.holds {
		u := d.threads.all[h.thread]
		u.sections[h.section].free = true
		u.leave(h.section, u.events)
	}
	o.holds = nil
	o.last = prefix{t.number, t.events + 1}
}

// acquire takes an acquisition of a lock by t.
func (d *Detector) acquire(t *thread, r *heisen.Record, o *object, shared bool) {
	for _, h := range o.holds {
		if h.thread != t.number && !(h.shared && shared) { // no lock allows that
			d.keepOrder(t, o)
			return
		}
	}
	if h := o.holdOf(t.number, shared); h >= 0 {
		t.sections[o.holds[h].section].times++
		return
	}
	d.expectDeadlock(t, r, o, shared)
	o.sections++
	own := o.holderOf(t.number)
	s := section{lock: o.number, acquire: t.events + 1, rank: o.sections, shared: shared}
	if n := len(own.sections); n > 0 {
		s.exclusive = t.sections[own.sections[n-1]].exclusive
	}
	if !shared {
		s.exclusive = s.rank
	}
	i := t.enter(s)
	own.sections = append(own.sections, i)
	o.holds = append(o.holds, hold{t.number, i, shared})
}

// holdOf returns the index of a thread's hold in a mode, or -1.
func (o *object) holdOf(t number, shared bool) int {
	return slices.IndexFunc(o.holds, func(h hold) bool { return h.thread == t && h.shared == shared })
}

// release takes a release of a lock by t. A release without a hold of the thread makes the lock keep the order
// of its operations: some other goroutine has acquired it, or nobody has been seen to.
func (d *Detector) release(t *thread, o *object, shared bool) {
	i := o.holdOf(t.number, shared)
	if i < 0 {
		d.keepOrder(t, o)
		return
	}
	h := o.holds[i]
	if t.sections[h.section].times--; t.sections[h.section].times == 0 {
		t.leave(h.section, t.events+1)
		o.holds = slices.Delete(o.holds, i, i+1)
	}
}

// message takes an event of a message object.
func (d *Detector) message(t *thread, r *heisen.Record) {
	o := d.use(t, r, asMessage)
	if o.ordered {
		return
	}
	this := prefix{t.number, t.events + 1}
	learn := func(list []prefix) {
		for _, p := range list {
			d.threads.learn(t, p, this.n)
		}
	}
	switch r.Op {
	case heisen.Send:
		learn(o.changes)
		o.sends = note(o.sends, this)
	case heisen.Change:
		o.changes = note(o.changes, this)
	case heisen.Receive, heisen.Observe:
		learn(o.sends)
		learn(o.changes)
	}
}
