package syncp_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/syncp"
)

// randomTrace returns a valid stream of some threads that lock, exchange messages, fork and join. Sites are those of a few
// places, or different for all events.
func randomTrace(rng *rand.Rand, events, sites int) (records []heisen.Record) {
	threads := 2 + rng.IntN(3)
	started := map[int]bool{0: true}
	if rng.IntN(2) == 0 {
		for t := range threads {
			started[t] = true
		}
	}
	type holds struct{ exclusive, shared []int } // threads
	locks := make([]holds, 1+rng.IntN(3))
	ended := map[int]bool{}
	weights := [...]int{6, 6, 2 * rng.IntN(2), 2 * rng.IntN(2), 2 * rng.IntN(2), 8, 4 * rng.IntN(2), 8, 2 * rng.IntN(2), 2 * rng.IntN(2), rng.IntN(2), rng.IntN(2), 1, 1}
	if locky := rng.IntN(3) == 0; locky {
		locks = make([]holds, 2+rng.IntN(2))
		weights = [...]int{rng.IntN(2), 1, 0, 0, 0, 12, 2 * rng.IntN(2), 8, 0, 0, 0, 0, 1, 0}
		threads = 2 + rng.IntN(2)
	}
	total := 0
	for _, w := range weights {
		total += w
	}
	for tries := 0; len(records) < events && tries < 1000; tries++ {
		t := rng.IntN(threads)
		if !started[t] || ended[t] {
			continue
		}
		k, at := 0, rng.IntN(total)
		for at >= weights[k] {
			at -= weights[k]
			k++
		}
		r := heisen.Record{Thread: heisen.Thread(t), Object: heisen.Object(8 + 8*rng.IntN(2)), Len: 8, Site: heisen.Site(1 + rng.IntN(sites))}
		atomic, message, lock := heisen.Object(64+8*rng.IntN(2)), heisen.Object(128+8*rng.IntN(2)), rng.IntN(len(locks))
		l := &locks[lock]
		if k >= 5 && k <= 7 {
			r.Object, r.Len = heisen.Object(192+8*lock), 0
		}
		if k >= 8 && k <= 11 {
			r.Object, r.Len = message, 0
		}
		switch k {
		case 0:
			r.Op = heisen.Read
		case 1:
			r.Op = heisen.Write
		case 2, 3, 4:
			r.Op = [...]heisen.Op{heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}[k-2]
			if rng.IntN(4) > 0 {
				r.Object = atomic
			}
		case 5:
			if len(l.exclusive)+len(l.shared) > 0 {
				continue
			}
			r.Op, l.exclusive = heisen.Acquire, []int{t}
		case 6:
			if len(l.exclusive) > 0 {
				continue
			}
			r.Op, l.shared = heisen.AcquireShared, append(l.shared, t)
		case 7:
			if i := slices.Index(l.exclusive, t); i >= 0 {
				r.Op, l.exclusive = heisen.Release, nil
			} else if i := slices.Index(l.shared, t); i >= 0 {
				r.Op, l.shared = heisen.ReleaseShared, slices.Delete(l.shared, i, i+1)
			} else {
				continue
			}
		case 8, 9, 10, 11:
			r.Op = [...]heisen.Op{heisen.Send, heisen.Receive, heisen.Change, heisen.Observe}[k-8]
		case 12:
			child := rng.IntN(threads)
			if started[child] {
				continue
			}
			started[child] = true
			r = heisen.Record{Op: heisen.Fork, Thread: heisen.Thread(t), Object: heisen.Object(child), Site: r.Site}
		case 13:
			child := rng.IntN(threads)
			if !started[child] || child == t || ended[child] {
				continue
			}
			ended[child] = true
			r = heisen.Record{Op: heisen.Join, Thread: heisen.Thread(t), Object: heisen.Object(child), Site: r.Site}
		}
		records = append(records, r)
	}
	return records
}

// uniqueSites gives each record a site of its own.
func uniqueSites(records []heisen.Record) {
	for i := range records {
		records[i].Site = heisen.Site(i + 1)
	}
}

// enumeration executes all reorderings of a trace that keep the order of critical sections, one event after the other, by the
// rules alone.
type enumeration struct {
	records   []heisen.Record
	steps     map[heisen.Thread][]int
	saw       []int // by record: the write that it saw, or -1
	releaseOf []int // by acquisition
	known     map[string]bool
	races     map[string]bool
	deadlocks map[string]bool
}

// sync is the state of an execution.
type state struct {
	next   map[heisen.Thread]int
	done   []bool
	writer map[heisen.Object]int
}

func enumerate(records []heisen.Record) *enumeration {
	e := &enumeration{records: records, steps: map[heisen.Thread][]int{}, saw: make([]int, len(records)), releaseOf: make([]int, len(records)),
		known: map[string]bool{}, races: map[string]bool{}, deadlocks: map[string]bool{}}
	writer := map[heisen.Object]int{}
	open, depth := map[string][]int{}, map[string]int{}
	for i, r := range records {
		e.steps[r.Thread] = append(e.steps[r.Thread], i)
		e.saw[i] = -1
		if w, ok := writer[r.Object]; ok {
			e.saw[i] = w
		}
		if r.Op.IsWrite() {
			writer[r.Object] = i
		}
		key := fmt.Sprint(r.Thread, r.Object, r.Op == heisen.AcquireShared || r.Op == heisen.ReleaseShared)
		switch r.Op {
		case heisen.Acquire, heisen.AcquireShared:
			open[key], depth[key] = append(open[key], i), depth[key]+1
			e.releaseOf[i] = -1
		case heisen.Release, heisen.ReleaseShared:
			// A lock that is acquired several times is held until the last release.
			if depth[key]--; depth[key] == 0 {
				for _, a := range open[key] {
					e.releaseOf[a] = i
				}
				open[key] = nil
			}
		}
	}
	s := &state{next: map[heisen.Thread]int{}, done: make([]bool, len(records)), writer: map[heisen.Object]int{}}
	e.visit(s)
	return e
}

func (e *enumeration) visit(s *state) {
	key := fmt.Sprint(s.done, s.writer)
	if e.known[key] {
		return
	}
	e.known[key] = true
	var pending []int
	for t, steps := range e.steps {
		if n := s.next[t]; n < len(steps) && e.ready(s, steps[n]) {
			pending = append(pending, steps[n])
		}
	}
	sort.Ints(pending)
	e.judge(s, pending)
	for _, i := range pending {
		r := &e.records[i]
		if !e.can(s, i) {
			continue
		}
		before, had := s.writer[r.Object]
		s.done[i] = true
		s.next[r.Thread]++
		if r.Op.IsWrite() {
			s.writer[r.Object] = i
		}
		e.visit(s)
		s.done[i] = false
		s.next[r.Thread]--
		if r.Op.IsWrite() {
			if delete(s.writer, r.Object); had {
				s.writer[r.Object] = before
			}
		}
	}
}

// ready reports whether the thread of a record has been forked.
func (e *enumeration) ready(s *state, i int) bool {
	for j := range i {
		if f := &e.records[j]; f.Op == heisen.Fork && f.Object.Thread() == e.records[i].Thread && !s.done[j] {
			return false
		}
	}
	return true
}

// can reports whether a pending record can happen.
func (e *enumeration) can(s *state, i int) bool {
	r := &e.records[i]
	switch r.Op {
	case heisen.Read, heisen.AtomicRead, heisen.AtomicUpdate:
		w, ok := s.writer[r.Object]
		if !ok {
			w = -1
		}
		return w == e.saw[i]
	case heisen.Join:
		for j := range i {
			if e.records[j].Thread == r.Object.Thread() && !s.done[j] {
				return false
			}
		}
	case heisen.Send, heisen.Receive, heisen.Observe:
		for j, o := range e.records {
			sends := o.Op == heisen.Change || o.Op == heisen.Send && r.Op != heisen.Send
			if o.Object == r.Object && sends && j != i {
				if j < i && !s.done[j] || j > i && s.done[j] && r.Op != heisen.Send {
					return false
				}
			}
		}
	case heisen.Acquire, heisen.AcquireShared:
		for j, o := range e.records {
			if o.Object != r.Object || o.Op != heisen.Acquire && o.Op != heisen.AcquireShared || o.Thread == r.Thread || !s.done[j] ||
				o.Op == heisen.AcquireShared && r.Op == heisen.AcquireShared {
				continue
			}
			if j > i || e.releaseOf[j] < 0 || !s.done[e.releaseOf[j]] { // another order, or the lock is held
				return false
			}
		}
	}
	return true
}

// judge notes the races and deadlocks of a state.
func (e *enumeration) judge(s *state, pending []int) {
	for k, j := range pending {
		for _, i := range pending[:k] {
			a, b := &e.records[i], &e.records[j]
			if a.Object == b.Object && a.Op.Conflicts(b.Op) {
				e.races[placesOf(a, b)] = true
			}
		}
	}
	var path []int
	var extend func()
	extend = func() {
		last := path[len(path)-1]
		for _, j := range pending {
			if !e.waitsFor(s, last, e.records[j].Thread) {
				continue
			}
			if j == path[0] && len(path) > 1 {
				var of []*heisen.Record
				for _, i := range path {
					of = append(of, &e.records[i])
				}
				e.deadlocks[placesOf(of...)] = true
			}
			if j > path[0] && !slices.Contains(path, j) && len(path) < 4 {
				path = append(path, j)
				extend()
				path = path[:len(path)-1]
			}
		}
	}
	for _, i := range pending {
		path = []int{i}
		extend()
	}
}

// waitsFor reports whether a pending record is an acquisition of a lock that a thread holds, in a mode that excludes it.
func (e *enumeration) waitsFor(s *state, i int, t heisen.Thread) bool {
	r := &e.records[i]
	if r.Op != heisen.Acquire && r.Op != heisen.AcquireShared || t == r.Thread {
		return false
	}
	for j, o := range e.records {
		if o.Object == r.Object && o.Thread == t && s.done[j] && (o.Op == heisen.Acquire || o.Op == heisen.AcquireShared && r.Op == heisen.Acquire) &&
			(e.releaseOf[j] < 0 || !s.done[e.releaseOf[j]]) {
			return true
		}
	}
	return false
}

// placesOf returns the sorted places of records, as text.
func placesOf(records ...*heisen.Record) string {
	var list []string
	for _, r := range records {
		list = append(list, fmt.Sprint(r.Op, "@", r.Site))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// predict returns what the detector finds, as enumerate has it.
func predict(t *testing.T, records []heisen.Record, opts ...syncp.Option) (races, deadlocks map[string]bool, stats syncp.Stats) {
	t.Helper()
	races, deadlocks = map[string]bool{}, map[string]bool{}
	d, err := syncp.NewDetector(append(opts, syncp.WithSink(func(f heisen.Finding) {
		var of []*heisen.Record
		for _, a := range f.Accesses {
			of = append(of, &heisen.Record{Op: a.Op, Site: a.Site})
		}
		found := races
		if f.Kind == heisen.Deadlock {
			found = deadlocks
		}
		if found[placesOf(of...)] {
			t.Errorf("%v is reported twice", f)
		}
		found[placesOf(of...)] = true
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	d.HandleRecords(records)
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	return races, deadlocks, d.Stats()
}

// TestExact: the detector finds what the enumeration of all reorderings finds, and nothing else.
func TestExact(t *testing.T) {
	traces := tier.Pick(2000, 6000, 20_000, 200_000)
	races, deadlocks, refused := 0, 0, 0
	for k := range traces {
		rng := rand.New(rand.NewPCG(uint64(k), 7))
		records := randomTrace(rng, 4+rng.IntN(13), 4)
		if k%3 > 0 {
			uniqueSites(records)
		}
		want := enumerate(records)
		r, d, stats := predict(t, records)
		races, deadlocks, refused = races+len(r), deadlocks+len(d), refused+stats.Refused
		if !maps.Equal(r, want.races) || !maps.Equal(d, want.deadlocks) {
			for i, r := range records {
				t.Logf("%2d %d %v %d @%d", i, r.Thread, r.Op, r.Object, r.Site)
			}
			t.Fatalf("trace %d: found %v %v, want %v %v; %+v", k, r, d, want.races, want.deadlocks, stats)
		}
	}
	t.Logf("%d races and %d deadlocks, %d witnesses refused", races, deadlocks, refused)
	if races < traces/2 || deadlocks < traces/200 || refused > 0 {
		t.Errorf("%d races, %d deadlocks, %d witnesses refused in %d traces", races, deadlocks, refused, traces)
	}
}
