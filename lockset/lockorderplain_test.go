package lockset_test

import (
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
)

// plain implements the definition in LockOrder's documentation literally: it stores every dependency with
// the full clock of its thread and examines every cycle.
type plain struct {
	clocks   map[heisen.Thread]clock
	messages map[heisen.Object]clock
	held     map[heisen.Thread][]plainHold
	life     map[heisen.Object]int // how often the lock's memory was allocated
	deps     []*plainDep
	event    uint64
}

type clock map[heisen.Thread]uint64

func (c clock) join(d clock) {
	for t, n := range d {
		c[t] = max(c[t], n)
	}
}

type plainLock struct {
	object heisen.Object
	life   int
}

type plainHold struct {
	lock   plainLock
	shared bool
}

type plainDep struct {
	thread heisen.Thread
	lock   plainLock
	shared bool
	held   []plainHold
	site   heisen.Site
	event  uint64
	clock  clock
	ended  bool // a lock's life has ended
}

// A plainStep is a thread that waits at a dependency, a writer perhaps for the
// readers to leave.
type plainStep struct {
	*plainDep
	drain bool
}

func newPlain() *plain {
	return &plain{
		clocks:   map[heisen.Thread]clock{},
		messages: map[heisen.Object]clock{},
		held:     map[heisen.Thread][]plainHold{},
		life:     map[heisen.Object]int{},
	}
}

func (p *plain) clock(t heisen.Thread) clock {
	if p.clocks[t] == nil {
		p.clocks[t] = clock{}
	}
	return p.clocks[t]
}

// handle takes an event and returns the circles that it completes.
func (p *plain) handle(r heisen.Record) (circles [][]plainStep) {
	p.event++
	c := p.clock(r.Thread)
	c[r.Thread] = p.event // events have the same numbers in the clocks of all
	other := r.Object.Thread()
	switch r.Op {
	case heisen.Fork:
		if other != r.Thread {
			p.clock(other).join(c)
		}
	case heisen.Join:
		if other != r.Thread {
			c.join(p.clock(other))
		}
	case heisen.Send:
		if p.messages[r.Object] == nil {
			p.messages[r.Object] = clock{}
		}
		p.messages[r.Object].join(c)
	case heisen.Receive:
		if r.Flags&heisen.Chance == 0 {
			c.join(p.messages[r.Object])
		}
	case heisen.Alloc, heisen.Free:
		p.endLives(r.Object, r.Value)
	case heisen.Release, heisen.ReleaseShared:
		p.release(r)
	case heisen.Acquire, heisen.AcquireShared:
		return p.acquire(r)
	}
	return nil
}

func (p *plain) endLives(from heisen.Object, size uint64) {
	in := func(o heisen.Object) bool { return o >= from && uint64(o-from) < size }
	for o := range p.messages {
		if in(o) {
			delete(p.messages, o)
		}
	}
	for t, held := range p.held {
		p.held[t] = slices.DeleteFunc(slices.Clone(held), func(h plainHold) bool { return in(h.lock.object) })
	}
	for _, d := range p.deps {
		d.ended = d.ended || in(d.lock.object) ||
			slices.ContainsFunc(d.held, func(h plainHold) bool { return in(h.lock.object) })
	}
	for o := range p.life {
		if in(o) {
			p.life[o]++
		}
	}
}

// drop removes t's latest hold and reports whether there was one.
func (p *plain) drop(t heisen.Thread, h plainHold) bool {
	held := slices.Clone(p.held[t])
	for i, other := range slices.Backward(held) {
		if other == h {
			p.held[t] = slices.Delete(held, i, i+1)
			return true
		}
	}
	return false
}

func (p *plain) release(r heisen.Record) {
	h := plainHold{plainLock{r.Object, p.life[r.Object]}, r.Op == heisen.ReleaseShared}
	if p.drop(r.Thread, h) {
		return
	}
	// Of several readers' holds, whose ends is not said. The traces of these
	// tests leave no choice.
	for t := range p.held {
		if p.drop(t, h) {
			return
		}
	}
}

func (p *plain) acquire(r heisen.Record) (circles [][]plainStep) {
	p.life[r.Object] += 0
	h := plainHold{plainLock{r.Object, p.life[r.Object]}, r.Op == heisen.AcquireShared}
	for t := range p.held {
		if t == r.Thread {
			continue
		}
		for p.drop(t, plainHold{h.lock, false}) {
		}
		for !h.shared && p.drop(t, plainHold{h.lock, true}) {
		}
	}
	waits := r.Flags&heisen.NoWait == 0 && !slices.Contains(p.held[r.Thread], plainHold{h.lock, false})
	if waits {
		d := &plainDep{
			thread: r.Thread, lock: h.lock, shared: h.shared, held: slices.Clone(p.held[r.Thread]),
			site: r.Site, event: p.event, clock: maps.Clone(p.clock(r.Thread)),
		}
		p.deps = append(p.deps, d)
		p.circles([]plainStep{{d, false}}, &circles)
		if !d.shared {
			p.circles([]plainStep{{d, true}}, &circles)
		}
	}
	p.held[r.Thread] = append(p.held[r.Thread], h)
	return circles
}

// circles adds all circles that go on from the path.
func (p *plain) circles(path []plainStep, found *[][]plainStep) {
	last := path[len(path)-1]
	if len(path) > 1 && last.waitsFor(path[0]) {
		*found = append(*found, slices.Clone(path))
	}
	for _, d := range p.deps {
		if d.ended {
			continue
		}
		for _, drain := range []bool{false, true} {
			next := plainStep{d, drain}
			if drain && d.shared || !last.waitsFor(next) {
				continue
			}
			if slices.ContainsFunc(path, func(s plainStep) bool { return !s.together(next) }) {
				continue
			}
			p.circles(append(path[:len(path):len(path)], next), found)
		}
	}
}

// waitsFor: s wants what other holds.
func (s plainStep) waitsFor(other plainStep) bool {
	if s.drain { // for a reader
		return slices.Contains(other.held, plainHold{s.lock, true})
	}
	return slices.Contains(other.held, plainHold{s.lock, false}) || other.drain && other.lock == s.lock
}

// together: different threads, unordered, and no gate lock.
func (s plainStep) together(other plainStep) bool {
	if s.thread == other.thread || s.clock[other.thread] >= other.event || other.clock[s.thread] >= s.event {
		return false
	}
	for _, h := range s.held {
		for _, g := range other.held {
			if h.lock == g.lock && !(h.shared && g.shared) {
				return false
			}
		}
		if other.drain && other.lock == h.lock && !h.shared {
			return false
		}
	}
	for _, g := range other.held {
		if s.drain && s.lock == g.lock && !g.shared {
			return false
		}
	}
	return !(s.drain && other.drain && s.lock == other.lock)
}
