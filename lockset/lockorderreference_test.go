package lockset_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/lockset"
)

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
	d := must.Make(lockset.NewLockOrder(lockset.WithSink(func(f heisen.Finding) { fresh = append(fresh, f) })))
	for i, r := range trace {
		fresh = nil
		handleAll(d, trace[i:i+1])
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
		fmt.Fprintf(&b, "%3d: thread %d %s %#x at %d flags %d val %d\n", i+1, r.Thread, r.Op, r.Object, r.Site, r.Flags, r.Value)
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
				if h.Object == o && (exclusive || h.Op == heisen.Acquire) {
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
		r := heisen.Record{Thread: heisen.Thread(t), Site: heisen.Site(1 + rng.IntN(sites))}
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
			r.Thread, r.Op, r.Object = heisen.Thread(by), heisen.Fork, heisen.Object(t)
		case s.ended:
			by := rng.IntN(threads)
			if by == t || !states[by].running || states[by].ended || rng.IntN(3) > 0 {
				continue
			}
			r.Thread, r.Op, r.Object = heisen.Thread(by), heisen.Join, heisen.Object(t)
		case n < 2 && len(s.held) == 0 && t > 0:
			s.ended = true
			r.Op = heisen.End
		case n < 2+2*messages:
			r.Op, r.Object = heisen.Send, heisen.Object(8*(1+rng.IntN(2)))
			if rng.IntN(2) == 0 {
				r.Op = heisen.Receive
				if rng.IntN(8) == 0 {
					r.Flags = heisen.Chance
				}
			}
		case n < 12 && lives:
			r.Op, r.Object, r.Value = heisen.Free, heisen.Object(64*(1+rng.IntN(locks))), 64
			for i := range states {
				states[i].held = slices.DeleteFunc(states[i].held, func(h heisen.Record) bool { return h.Object == r.Object })
			}
		case n < 40 && len(s.held) > 0 || len(s.held) >= nesting:
			i := len(s.held) - 1
			if rng.IntN(6) == 0 {
				i = rng.IntN(len(s.held))
			}
			r.Object, r.Op = s.held[i].Object, heisen.Release
			if s.held[i].Op == heisen.AcquireShared {
				r.Op = heisen.ReleaseShared
			}
			s.held = slices.Delete(s.held, i, i+1)
		default:
			r.Object, r.Op = heisen.Object(64*(1+rng.IntN(locks))), heisen.Acquire
			if rng.IntN(6) < readers {
				r.Op = heisen.AcquireShared
			}
			if !free(r.Object, r.Op == heisen.Acquire) {
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
	traces := tier.Pick(4000, 4000, 40000)
	reports, circles, long := 0, 0, 0
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
		h := plainHold{plainLock{r.Object, p.life[r.Object]}, true}
		if r.Op == heisen.ReleaseShared && !slices.Contains(p.held[r.Thread], h) {
			continue
		}
		switch r.Op {
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
			r := heisen.Record{Op: ops[int(b[0])%len(ops)], Thread: heisen.Thread(b[1] % 4), Site: heisen.Site(b[1] / 16), Object: 64 * heisen.Object(b[2]%5)}
			switch r.Op {
			case heisen.Fork, heisen.Join:
				r.Object = heisen.Object(b[2] % 5)
			case heisen.Alloc, heisen.Free:
				r.Value = uint64(b[2])
			case heisen.Acquire, heisen.AcquireShared:
				r.Flags = heisen.Flags(b[0]) & heisen.NoWait
			}
			trace = append(trace, r)
		}
		agree(t, decided(trace))
	})
}
