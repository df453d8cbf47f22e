package tracewindow

import (
	"slices"

	"github.com/google/btree"

	"github.com/heisen-go/heisen"
)

// clock has for each lane the number of its latest event that happens before, as its index in the window
// plus 1.
type clock [MaxLanes]int

func (c *clock) join(other *clock) {
	if other == nil {
		return
	}
	for i := range c {
		c[i] = max(c[i], other[i])
	}
}

// order reads the trace for the fourth time and follows happens-before between the events of the window,
// as the comments on heisen.Op define it. Clocks count the events of the window only, and not those of
// the trace, but they pass through all goroutines and all objects. So they stay small, and events that
// are not selected order the others nevertheless.
func (s *selection) order() error {
	events := s.w.Events
	shown, all := newFollower(s.w.Lanes, s.q.Atomics), newFollower(s.w.Lanes, true)
	next := 0
	_, err := s.again(events[len(events)-1].Number, s.keeps, func(r *heisen.Record, number uint64, _ *heisen.Symbols) {
		s.w.Hidden = s.w.Hidden || r.Op == heisen.Hide
		if number < events[0].Number {
			return // nothing that the clocks count has happened
		}
		s.w.Atomic = s.w.Atomic || r.Op.IsAtomic() && !s.q.Atomics
		event := -1
		if events[next].Number == number {
			event = next
			next++
		} else {
			s.w.between(r, events[:next])
		}
		s.w.Edges = append(s.w.Edges, shown.step(r, event)...)
		all.step(r, event)
	})
	if err != nil {
		return err
	}
	var sides []int // accesses of a race
	for i := range events {
		if events[i].Access >= 0 {
			sides = append(sides, i)
		}
	}
	if len(sides) == 2 {
		lane := slices.Index(s.w.Lanes, events[sides[0]].Thread)
		s.w.Ordered = all.at[sides[1]][lane] > sides[0]
	}
	return nil
}

// between notes what bars and starts have to know of an event between those of the window, of which some have
// come already.
func (w *Window) between(r *heisen.Record, events []Event) {
	switch r.Op {
	case heisen.Fork:
		if t := r.Object.Thread(); slices.Contains(w.Lanes, t) && !slices.Contains(w.late, t) {
			w.late = append(w.late, t)
		}
	case heisen.Release, heisen.ReleaseShared:
		if !slices.Contains(w.Lanes, r.Thread) {
			return
		}
		for i := range slices.Backward(events) {
			e := &events[i]
			if e.Thread != r.Thread {
				continue
			}
			held := e.Object == r.Object || slices.ContainsFunc(w.symbols.Locks(e.Context), func(h heisen.HeldLock) bool { return h.Lock == r.Object })
			if held && !slices.Contains(w.released[i], r.Object) {
				w.released[i] = append(w.released[i], r.Object)
			}
			return
		}
	}
}

// follower follows happens-before.
type follower struct {
	lanes   []heisen.Thread
	atomics bool
	threads map[heisen.Thread]*clock
	objects *btree.BTreeG[*published] // those that have published anything
	at      []clock                   // of the events of the window
}

// published is what an object has published: L(o) and R(o) in the comments of heisen.Op.
type published struct {
	object       heisen.Object
	all, readers clock
}

func newFollower(lanes []heisen.Thread, atomics bool) *follower {
	return &follower{
		lanes: lanes, atomics: atomics, threads: map[heisen.Thread]*clock{},
		objects: btree.NewG(16, func(a, b *published) bool { return a.object < b.object }),
	}
}

// step takes the next event, which is an event of the window or none, -1. It returns the edges that end there.
func (f *follower) step(r *heisen.Record, event int) (edges []Edge) {
	c := f.threads[r.Thread]
	if c == nil {
		c = &clock{}
	}
	f.observe(c, r)
	if event >= 0 {
		edges = f.arrive(c, event, slices.Index(f.lanes, r.Thread))
	}
	if *c != (clock{}) {
		f.threads[r.Thread] = c
		f.publish(c, r)
	} else if r.Op == heisen.AtomicWrite && f.atomics { // hides what was published before
		f.objects.Delete(&published{object: r.Object})
	}
	return edges
}

// arrive makes an event of the window the latest one of its lane. It returns an edge from each latest event
// of another lane that happens before it, unless the edge follows from those of others.
func (f *follower) arrive(c *clock, event, lane int) (edges []Edge) {
	var before clock // what the previous event of the lane knows
	if c[lane] > 0 {
		before = f.at[c[lane]-1]
	}
	for l := range f.lanes {
		from := c[l] - 1
		if l == lane || c[l] <= before[l] {
			continue
		}
		follows := false
		for m := range f.lanes {
			if m != l && m != lane && c[m] > before[m] && f.at[c[m]-1][l] > from {
				follows = true
			}
		}
		if !follows {
			edges = append(edges, Edge{from, event})
		}
	}
	c[lane] = event + 1
	f.at = append(f.at, *c)
	return edges
}

// observe orders a goroutine after what its event waits for or reads.
func (f *follower) observe(c *clock, r *heisen.Record) {
	switch r.Op {
	case heisen.Join:
		c.join(f.threads[r.Object.Thread()])
	case heisen.Acquire:
		if p := f.object(r.Object); p != nil {
			c.join(&p.all)
			c.join(&p.readers)
		}
	case heisen.AtomicRead, heisen.AtomicUpdate:
		if p := f.object(r.Object); p != nil && f.atomics {
			c.join(&p.all)
		}
	case heisen.AcquireShared, heisen.Receive:
		if p := f.object(r.Object); p != nil {
			c.join(&p.all)
		}
	case heisen.Alloc, heisen.Free:
		f.forget(r.Object, r.Value)
	}
}

// publish lets others observe what a goroutine has done.
func (f *follower) publish(c *clock, r *heisen.Record) {
	switch r.Op {
	case heisen.Fork:
		child := f.threads[r.Object.Thread()]
		if child == nil {
			child = &clock{}
			f.threads[r.Object.Thread()] = child
		}
		child.join(c)
	case heisen.Release, heisen.Send:
		f.make(r.Object).all.join(c)
	case heisen.ReleaseShared:
		f.make(r.Object).readers.join(c)
	case heisen.AtomicWrite:
		if f.atomics {
			*f.make(r.Object) = published{object: r.Object, all: *c}
		}
	case heisen.AtomicUpdate:
		if f.atomics {
			f.make(r.Object).all.join(c)
		}
	}
}

func (f *follower) object(o heisen.Object) *published {
	p, _ := f.objects.Get(&published{object: o})
	return p
}

func (f *follower) make(o heisen.Object) *published {
	p := f.object(o)
	if p == nil {
		p = &published{object: o}
		f.objects.ReplaceOrInsert(p)
	}
	return p
}

// forget ends the objects in a range of memory.
func (f *follower) forget(start heisen.Object, size uint64) {
	var ended []*published
	f.objects.AscendGreaterOrEqual(&published{object: start}, func(p *published) bool {
		if uint64(p.object-start) >= size {
			return false
		}
		ended = append(ended, p)
		return true
	})
	for _, p := range ended {
		f.objects.Delete(p)
	}
}
