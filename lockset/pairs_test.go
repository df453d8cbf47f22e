package lockset_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/vclock"
)

func hybrid(options ...lockset.HybridOption) func(heisen.Sink) heisen.Detector {
	return func(s heisen.Sink) heisen.Detector {
		return must.Make(lockset.NewHybrid(append(slices.Clip(options), lockset.WithSink(s))...))
	}
}

// siteOp is a place of a pair.
type siteOp struct {
	site heisen.Site
	op   heisen.Op
}

func (a siteOp) less(b siteOp) bool { return a.site < b.site || a.site == b.site && a.op < b.op }

type spots [2]siteOp

func spotsOf(a, b siteOp) spots {
	if b.less(a) {
		a, b = b, a
	}
	return spots{a, b}
}

func spotsOfFinding(f heisen.Finding) spots {
	a, b := f.Accesses[0], f.Accesses[1]
	return spotsOf(siteOp{a.Site, a.Op}, siteOp{b.Site, b.Op})
}

// events is a set of events of a small trace.
type events [4]uint64

func (s *events) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *events) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

// messages is the order by messages as a graph: for each event those before it,
// itself included.
type messages struct {
	reach   []events
	last    map[heisen.Thread]int
	pending map[heisen.Thread][]int // forks of a thread that has done nothing since
	sent    map[heisen.Object][]int
}

func newMessages() *messages {
	return &messages{
		last:    map[heisen.Thread]int{},
		pending: map[heisen.Thread][]int{},
		sent:    map[heisen.Object][]int{},
	}
}

func (g *messages) add(j int, r *heisen.Record, atomics bool) {
	var before events
	before.add(j)
	after := func(those ...int) {
		for _, i := range those {
			for w := range before {
				before[w] |= g.reach[i][w]
			}
		}
	}
	if i, ok := g.last[r.Thread]; ok {
		after(i)
	}
	after(g.pending[r.Thread]...)
	delete(g.pending, r.Thread)
	switch r.Op {
	case heisen.Receive:
		after(g.sent[r.Object]...)
	case heisen.AtomicRead, heisen.AtomicUpdate:
		if atomics {
			after(g.sent[r.Object]...)
		}
	case heisen.Join:
		if i, ok := g.last[r.Object.Thread()]; ok {
			after(i)
		}
		if r.Object.Thread() != r.Thread {
			after(g.pending[r.Object.Thread()]...)
		}
	case heisen.Alloc, heisen.Free:
		for b := range r.Value {
			delete(g.sent, r.Object+heisen.Object(b))
		}
	}
	g.reach = append(g.reach, before)
	g.last[r.Thread] = j
	switch r.Op {
	case heisen.AtomicWrite:
		delete(g.sent, r.Object)
		if atomics {
			g.sent[r.Object] = []int{j}
		}
	case heisen.AtomicUpdate:
		if atomics {
			g.sent[r.Object] = append(g.sent[r.Object], j)
		}
	case heisen.Send:
		g.sent[r.Object] = append(g.sent[r.Object], j)
	case heisen.Fork:
		if r.Object.Thread() != r.Thread {
			g.pending[r.Object.Thread()] = append(g.pending[r.Object.Thread()], j)
		}
	}
}

// allPairs returns the potential races by their definition, with the bytes where
// they meet.
func allPairs(trace []heisen.Record, atomics bool) map[spots]map[[2]int]bool {
	g := newMessages()
	holds := newNaiveHolds()
	type locked struct{ any, exclusive lives }
	held := make([]locked, len(trace))
	alive := map[heisen.Object][]int{} // accesses by byte, in its present life
	out := map[spots]map[[2]int]bool{}
	for j := range trace {
		r := &trace[j]
		g.add(j, r, atomics)
		held[j].any, held[j].exclusive = holds.held(r.Thread)
		holds.handle(r)
		if r.Op == heisen.Alloc || r.Op == heisen.Free {
			for b := range r.Value {
				delete(alive, r.Object+heisen.Object(b))
			}
		}
		op := accessOf(r, 0).Op
		if !op.IsAccess() {
			continue
		}
		for b := r.Object; b < r.Object+heisen.Object(r.Size()); b++ {
			for _, i := range alive[b] {
				e := &trace[i]
				earlier := accessOf(e, 0).Op
				if e.Thread == r.Thread || !earlier.Conflicts(op) || g.reach[j].has(i) ||
					len(held[i].any.and(held[j].exclusive))+len(held[i].exclusive.and(held[j].any)) > 0 {
					continue
				}
				p := spotsOf(siteOp{e.Site, earlier}, siteOp{r.Site, op})
				if out[p] == nil {
					out[p] = map[[2]int]bool{}
				}
				out[p][[2]int{i, j}] = true
			}
			alive[b] = append(alive[b], j)
		}
	}
	return out
}

// TestHybridIsAllPairs compares with the definition, pair by pair; also if it
// compacts all the time.
func TestHybridIsAllPairs(t *testing.T) {
	for _, atomics := range []bool{false, true} {
		t.Run(fmt.Sprintf("atomics order %v", atomics), func(t *testing.T) {
			options := []lockset.HybridOption{lockset.WithMaxAccesses(0)}
			if atomics {
				options = append(options, lockset.WithAtomicOrder())
			}
			forRandomTraces(t, 1000, func(trace []heisen.Record) error {
				want := allPairs(trace, atomics)
				found, err := findingsOf(trace, func(s heisen.Sink) heisen.Detector {
					d := must.Make(lockset.NewHybrid(append(slices.Clip(options), lockset.WithSink(s))...))
					if atomics {
						return d
					}
					return &compacting{Detector: d, compact: d.CompactNow}
				})
				if err != nil {
					return err
				}
				got := map[spots]bool{}
				for _, f := range found {
					p := spotsOfFinding(f)
					if got[p] {
						return fmt.Errorf("%v is reported twice", p)
					}
					got[p] = true
					if err := example(trace, f, want[p]); err != nil {
						return err
					}
				}
				for p := range want {
					if !got[p] {
						return fmt.Errorf("%v is not found; it is %v", p, want[p])
					}
				}
				return nil
			})
		})
	}
}

// example checks that the accesses of a finding are a potential race.
func example(trace []heisen.Record, f heisen.Finding, pairs map[[2]int]bool) error {
	a, b := f.Accesses[0], f.Accesses[1]
	if want := accessOf(&trace[b.Index-1], b.Index); b != want {
		return fmt.Errorf("access %+v, but the event is %+v", b, want)
	}
	for p := range pairs {
		e := &trace[p[0]]
		if p[1] == int(b.Index-1) && a.Op == accessOf(e, 0).Op && a.Thread == e.Thread && a.Site == e.Site &&
			a.Context == e.Context && uint64(f.Object-e.Object) < e.Size() && a.Object == f.Object {
			return nil
		}
	}
	return fmt.Errorf("no potential race: %+v, of %v", f, pairs)
}

// TestHybridFindsRaces checks the promise about happens-before, in traces that
// are as wild as they come.
func TestHybridFindsRaces(t *testing.T) {
	for _, options := range [][]lockset.HybridOption{nil, {lockset.WithAtomicOrder()}} {
		forRandomTraces(t, 800, func(trace []heisen.Record) error {
			hb, err := findingsOf(trace, func(s heisen.Sink) heisen.Detector { return must.Make(vclock.NewHappensBefore(vclock.WithSink(s))) })
			if err != nil {
				return err
			}
			found, err := findingsOf(trace, hybrid(options...))
			if err != nil {
				return err
			}
			got := map[spots]bool{}
			for _, f := range found {
				got[spotsOfFinding(f)] = true
			}
			for _, f := range hb {
				if !got[spotsOfFinding(f)] {
					return fmt.Errorf("a race, but no potential one: %+v", f)
				}
			}
			return nil
		})
	}
}

// TestBoundedHybrid bounds the stored accesses. Reported pairs must be right, and Flush must return an
// error if pairs may be missing.
func TestBoundedHybrid(t *testing.T) {
	forRandomTraces(t, 400, func(trace []heisen.Record) error {
		want := allPairs(trace, false)
		for remember := 1; remember <= 4; remember++ {
			var d *lockset.Hybrid
			found, err := findingsOf(trace, func(s heisen.Sink) heisen.Detector {
				d = must.Make(lockset.NewHybrid(lockset.WithSink(s), lockset.WithMaxAccesses(remember)))
				return d
			})
			if (err != nil) != (d.Evicted() > 0) {
				return fmt.Errorf("%d accesses forgotten, error %v", d.Evicted(), err)
			}
			for _, f := range found {
				if err := example(trace, f, want[spotsOfFinding(f)]); err != nil {
					return err
				}
			}
			if d.Evicted() == 0 && len(found) != len(want) {
				return fmt.Errorf("%d pairs of %d, nothing forgotten", len(found), len(want))
			}
		}
		return nil
	})
}
