package lockset_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/lockset"
)

// plain is the definition in LockOrder's documentation, word by word and without
// any thought of cost: every dependency is kept with the whole clock of its
// thread, every circle is looked at.
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
	c := p.clock(r.TID)
	c[r.TID] = p.event // events have the same numbers in the clocks of all
	other := r.Obj.Thread()
	switch r.Code {
	case heisen.Fork:
		if other != r.TID {
			p.clock(other).join(c)
		}
	case heisen.Join:
		if other != r.TID {
			c.join(p.clock(other))
		}
	case heisen.Send:
		if p.messages[r.Obj] == nil {
			p.messages[r.Obj] = clock{}
		}
		p.messages[r.Obj].join(c)
	case heisen.Receive:
		if r.Flags&heisen.Chance == 0 {
			c.join(p.messages[r.Obj])
		}
	case heisen.Alloc, heisen.Free:
		p.endLives(r.Obj, r.Val)
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
	h := plainHold{plainLock{r.Obj, p.life[r.Obj]}, r.Code == heisen.ReleaseShared}
	if p.drop(r.TID, h) {
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
	p.life[r.Obj] += 0
	h := plainHold{plainLock{r.Obj, p.life[r.Obj]}, r.Code == heisen.AcquireShared}
	for t := range p.held {
		if t == r.TID {
			continue
		}
		for p.drop(t, plainHold{h.lock, false}) {
		}
		for !h.shared && p.drop(t, plainHold{h.lock, true}) {
		}
	}
	waits := r.Flags&heisen.NoWait == 0 && !slices.Contains(p.held[r.TID], plainHold{h.lock, false})
	if waits {
		d := &plainDep{
			thread: r.TID, lock: h.lock, shared: h.shared, held: slices.Clone(p.held[r.TID]),
			site: r.Loc, event: p.event, clock: maps.Clone(p.clock(r.TID)),
		}
		p.deps = append(p.deps, d)
		p.circles([]plainStep{{d, false}}, &circles)
		if !d.shared {
			p.circles([]plainStep{{d, true}}, &circles)
		}
	}
	p.held[r.TID] = append(p.held[r.TID], h)
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

// cycle is a cycle of sites.
type cycle []heisen.Site

// word is the same wherever the cycle begins.
func (c cycle) word() string {
	var words []string
	for i := range c {
		words = append(words, fmt.Sprint(append(slices.Clone(c[i:]), c[:i]...)))
	}
	return slices.Min(words)
}

func (c cycle) repeats() bool {
	return len(slices.Compact(slices.Sorted(slices.Values(c)))) < len(c)
}

// among reports whether all of c's sites are d's.
func (c cycle) among(d cycle) bool {
	return !slices.ContainsFunc(c, func(s heisen.Site) bool { return !slices.Contains(d, s) })
}

// covered: what the documentation promises of a circle, given the reported ones.
func (c cycle) covered(reported []cycle) bool {
	return slices.ContainsFunc(reported, func(r cycle) bool {
		return r.word() == c.word() || c.repeats() && r.among(c)
	})
}

// agree compares a LockOrder with the definition, after each event, and returns
// how many reports and circles there were.
func agree(t testing.TB, trace []heisen.Record) (reports, circles int) {
	p := newPlain()
	var reported []cycle
	var fresh []heisen.Finding
	d := lockset.NewLockOrder(func(f heisen.Finding) { fresh = append(fresh, f) })
	for i, r := range trace {
		fresh = nil
		d.HandleRecords(trace[i : i+1])
		want := map[string]bool{}
		var cycles []cycle
		for _, circle := range p.handle(r) {
			circles++
			var c cycle
			var events []uint64
			for _, s := range append(circle[1:], circle[0]) { // the latest last
				c = append(c, s.site)
				events = append(events, s.event)
			}
			cycles = append(cycles, c)
			want[fmt.Sprint(events)] = true
		}
		for _, f := range fresh {
			reports++
			var c cycle
			var events []uint64
			for _, a := range f.Accesses {
				c = append(c, a.Site)
				events = append(events, a.Index)
			}
			if !want[fmt.Sprint(events)] {
				t.Fatalf("event %d: reported circle of events %d is none\n%s", i+1, events, print(trace))
			}
			if c.covered(reported) {
				t.Fatalf("event %d: sites %d are reported again after %d\n%s", i+1, c, reported, print(trace))
			}
			reported = append(reported, c)
		}
		for _, c := range cycles {
			if !c.covered(reported) {
				t.Fatalf("event %d: sites %d are not reported, only %d\n%s", i+1, c, reported, print(trace))
			}
		}
	}
	if err := d.Flush(); err != nil {
		t.Fatalf("%v\n%s", err, print(trace))
	}
	return reports, circles
}

func print(trace []heisen.Record) string {
	var b strings.Builder
	for i, r := range trace {
		fmt.Fprintf(&b, "%3d: thread %d %s %#x at %d flags %d val %d\n", i+1, r.TID, r.Code, r.Obj, r.Loc, r.Flags, r.Val)
	}
	return b.String()
}

// lockTrace returns a random trace of threads that mostly take and release
// locks.
func lockTrace(rng *rand.Rand, threads, locks, events, sites int) (trace []heisen.Record) {
	type state struct {
		running, ended bool
		held           []heisen.Record
	}
	states := make([]state, threads)
	states[0].running = true
	free := func(o heisen.Object, exclusive bool) bool {
		for _, s := range states {
			for _, h := range s.held {
				if h.Obj == o && (exclusive || h.Code == heisen.Acquire) {
					return false
				}
			}
		}
		return true
	}
	nesting, messages, lives := 1+rng.IntN(4), rng.IntN(4), rng.IntN(40) == 0
	readers := rng.IntN(3)
	for len(trace) < events {
		t := rng.IntN(threads)
		s := &states[t]
		r := heisen.Record{TID: heisen.Thread(t), Loc: heisen.Site(1 + rng.IntN(sites))}
		switch n := rng.IntN(100); {
		case !s.running && !s.ended:
			by := rng.IntN(threads)
			if !states[by].running || states[by].ended {
				continue
			}
			s.running = true
			if rng.IntN(8) == 0 {
				continue // nobody forked it
			}
			r.TID, r.Code, r.Obj = heisen.Thread(by), heisen.Fork, heisen.Object(t)
		case s.ended:
			by := rng.IntN(threads)
			if by == t || !states[by].running || states[by].ended || rng.IntN(3) > 0 {
				continue
			}
			r.TID, r.Code, r.Obj = heisen.Thread(by), heisen.Join, heisen.Object(t)
		case n < 2 && len(s.held) == 0 && t > 0:
			s.ended = true
			r.Code = heisen.End
		case n < 2+2*messages:
			r.Code, r.Obj = heisen.Send, heisen.Object(8*(1+rng.IntN(2)))
			if rng.IntN(2) == 0 {
				r.Code = heisen.Receive
				if rng.IntN(8) == 0 {
					r.Flags = heisen.Chance
				}
			}
		case n < 12 && lives:
			r.Code, r.Obj, r.Val = heisen.Free, heisen.Object(64*(1+rng.IntN(locks))), 64
			for i := range states {
				states[i].held = slices.DeleteFunc(states[i].held, func(h heisen.Record) bool { return h.Obj == r.Obj })
			}
		case n < 40 && len(s.held) > 0 || len(s.held) >= nesting:
			i := len(s.held) - 1
			if rng.IntN(6) == 0 {
				i = rng.IntN(len(s.held))
			}
			r.Obj, r.Code = s.held[i].Obj, heisen.Release
			if s.held[i].Code == heisen.AcquireShared {
				r.Code = heisen.ReleaseShared
			}
			s.held = slices.Delete(s.held, i, i+1)
		default:
			r.Obj, r.Code = heisen.Object(64*(1+rng.IntN(locks))), heisen.Acquire
			if rng.IntN(6) < readers {
				r.Code = heisen.AcquireShared
			}
			if !free(r.Obj, r.Code == heisen.Acquire) {
				continue
			}
			if rng.IntN(30) == 0 {
				r.Flags = heisen.NoWait
			}
			s.held = append(s.held, r)
		}
		trace = append(trace, r)
	}
	return trace
}

// TestLockOrderReference: on random traces a LockOrder reports what its
// definition says.
func TestLockOrderReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	traces, reports, circles, long := 40000, 0, 0, 0
	if testing.Short() {
		traces = 4000
	}
	for range traces {
		trace := lockTrace(rng, 2+rng.IntN(4), 2+rng.IntN(4), 10+rng.IntN(50), []int{3, 20, 1000}[rng.IntN(3)])
		r, c := agree(t, trace)
		reports += r
		circles += c
		if r > 3 {
			long++
		}
	}
	if reports < traces/4 || long < traces/50 {
		t.Errorf("only %d reports in %d traces, more than 3 in %d", reports, traces, long)
	}
	t.Logf("%d traces, %d circles, %d reports", traces, circles, reports)
}

// TestLockOrderAnyTrace: the same on traces of all ops, also of such that are no
// executions, but with no choice of whose hold a release ends.
func TestLockOrderAnyTrace(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	reports := 0
	for i := range 6000 {
		trace := workload.Random(rng, workload.Small{
			Threads: 2 + rng.IntN(3), Events: 20 + rng.IntN(60), Vars: 2, Syncs: 2 + rng.IntN(2),
			Lives: i%3 == 0, Wild: i%2 == 0, Sites: 5,
		})
		r, _ := agree(t, decided(trace))
		reports += r
	}
	if reports < 500 {
		t.Errorf("only %d reports", reports)
	}
}

// decided leaves out the releases for reading by threads that hold nothing.
func decided(trace []heisen.Record) (out []heisen.Record) {
	p := newPlain()
	for _, r := range trace {
		h := plainHold{plainLock{r.Obj, p.life[r.Obj]}, true}
		if r.Code == heisen.ReleaseShared && !slices.Contains(p.held[r.TID], h) {
			continue
		}
		switch r.Code {
		case heisen.Acquire, heisen.AcquireShared, heisen.Release, heisen.ReleaseShared, heisen.Alloc, heisen.Free:
			p.handle(r)
		}
		out = append(out, r)
	}
	return out
}

// FuzzLockOrder builds traces from bytes, three each.
func FuzzLockOrder(f *testing.F) {
	for seed := range uint64(8) {
		b := make([]byte, 120)
		rng := rand.New(rand.NewPCG(seed, 0))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	ops := []heisen.Op{
		heisen.Acquire, heisen.Acquire, heisen.Acquire, heisen.Release, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared,
		heisen.Fork, heisen.Join, heisen.End, heisen.Send, heisen.Receive, heisen.Alloc, heisen.Free,
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var trace []heisen.Record
		for ; len(b) >= 3 && len(trace) < 60; b = b[3:] {
			r := heisen.Record{Code: ops[int(b[0])%len(ops)], TID: heisen.Thread(b[1] % 4), Loc: heisen.Site(b[1] / 16), Obj: 64 * heisen.Object(b[2]%5)}
			switch r.Code {
			case heisen.Fork, heisen.Join:
				r.Obj = heisen.Object(b[2] % 5)
			case heisen.Alloc, heisen.Free:
				r.Val = uint64(b[2])
			case heisen.Acquire, heisen.AcquireShared:
				r.Flags = heisen.Flags(b[0]) & heisen.NoWait
			}
			trace = append(trace, r)
		}
		agree(t, decided(trace))
	})
}
