package racefuzz_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/vclock"
)

// ends maps how executions of a model end, with all that goroutines have seen and the data races, to
// the classes of these executions.
type ends map[string]map[string]bool

// ends enumerates the executions of a model. It returns nil if there are more than most.
func (m model) ends(t *testing.T, s racefuzz.Strategy, more func() bool, most int) ends {
	t.Helper()
	all := ends{}
	for n := 0; more(); n++ {
		if n == most {
			return nil
		}
		var o observations
		var racy []string // pairs of places that race by happens-before
		var pairs [][2]heisen.Site
		detector, err := vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
			pairs = append(pairs, [2]heisen.Site{f.Accesses[0].Site, f.Accesses[1].Site})
		}))
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, m.observed(&o), s, 0, racefuzz.WithDetector(detector))
		for _, p := range pairs {
			race := pair(r.Symbols.Site(p[0]).String(), r.Symbols.Site(p[1]).String())
			racy = append(racy, fmt.Sprint(race))
		}
		slices.Sort(racy)
		end := fmt.Sprint(r.Outcome, r.Culprit, r.Message, r.Waiting, o.seen, slices.Compact(racy))
		if all[end] == nil {
			all[end] = map[string]bool{}
		}
		all[end][class(r, &o)] = true
	}
	return all
}

func (e ends) classes() (n int) {
	for _, c := range e {
		n += len(c)
	}
	return n
}

// class returns a text that two executions of a model have in common if and only if they are equivalent: the
// steps of each goroutine, and in which order come those steps of different goroutines that do not commute.
func class(r *racefuzz.Result, o *observations) string {
	type step struct {
		task, number int
		statement
	}
	made := map[int]int{}
	var steps []step
	for _, id := range r.Order {
		s := step{task: int(id), number: made[int(id)]}
		s.do = "go"
		if id > 0 {
			s.statement = o.begun[id-1][s.number]
		}
		made[int(id)]++
		steps = append(steps, s)
	}
	var orders []string
	for i, b := range steps {
		for _, a := range steps[:i] {
			last := i == len(steps)-1 && (r.Outcome == racefuzz.Panicked || r.Outcome == racefuzz.Failed)
			if a.task != b.task && (last || !commute(a.statement, b.statement, a.task, b.task)) {
				orders = append(orders, fmt.Sprint(a.task, ".", a.number, "<", b.task, ".", b.number))
			}
		}
	}
	slices.Sort(orders)
	return fmt.Sprint(made, o.seen, orders)
}

// commute reports whether two statements of different goroutines commute.
func commute(a, b statement, goroutineOfA, goroutineOfB int) bool {
	objects := func(s statement) []string {
		switch s.do {
		case "read", "write", "load", "store", "add":
			return []string{fmt.Sprint("variable", s.which)}
		case "lock", "unlock":
			return []string{fmt.Sprint("lock", s.which)}
		case "rlock", "runlock", "wlock", "wunlock":
			return []string{"rwlock"}
		case "send", "receive", "try", "close":
			return []string{fmt.Sprint("channel", s.which)}
		case "any":
			return []string{"channel0", "channel1"}
		case "done", "wait":
			return []string{"group"}
		}
		return []string{s.do}
	}
	if !slices.ContainsFunc(objects(a), func(o string) bool { return slices.Contains(objects(b), o) }) {
		return true
	}
	reads := func(s statement) bool { return s.do == "read" || s.do == "load" }
	switch {
	case a.do == "done" && b.do == "done": // both add, or both subtract
		return goroutineOfA%2 == goroutineOfB%2
	case reads(a) && reads(b):
		return true
	}
	return a.do == b.do && (a.do == "rlock" || a.do == "wait")
}

// TestDPORAgainstExhaustive compares the enumeration by partial-order reduction of random models with that
// of all executions. Each way to end is found, and one execution of each class is made.
func TestDPORAgainstExhaustive(t *testing.T) {
	models := tier.Pick(50, 50, 500)
	rng := rand.New(rand.NewPCG(7, 8))
	all, reduced, repeated := 0, 0, 0
	for n := 0; n < models; {
		m := randomModel(rng, n%10 == 9)
		e := racefuzz.NewExhaustive()
		count := 0
		want := m.ends(t, e, func() bool { count++; return e.More() }, 400)
		if want == nil {
			continue
		}
		n++
		d := racefuzz.NewDPOR()
		got := m.ends(t, d, d.More, 1<<20)
		if d.Err() != nil {
			t.Fatalf("%v: %v", m, d.Err())
		}
		for end, classes := range want {
			for c := range classes {
				if !got[end][c] {
					t.Fatalf("%v: no execution ends with %s in class %s", m, end, c)
				}
			}
		}
		negative := slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(end string) bool { return strings.Contains(end, "negative count") })
		switch {
		case got.classes() != want.classes():
			t.Fatalf("%v: %d classes, want %d", m, got.classes(), want.classes())
		case d.Executions() != want.classes() && !negative:
			t.Fatalf("%v: %d executions of %d classes", m, d.Executions(), want.classes())
		}
		all, reduced, repeated = all+count-1, reduced+d.Executions(), repeated+d.Repeated()
	}
	t.Logf("%d models: %d executions, %d classes, %d executions repeated", models, all, reduced, repeated)
	if repeated*5 > reduced {
		t.Error("that is too many repeated executions")
	}
}

// TestDPORCounts has models whose number of classes is known.
func TestDPORCounts(t *testing.T) {
	workers := func(n int, do func(g *racefuzz.G, i int)) func(*racefuzz.G) {
		return func(g *racefuzz.G) {
			for i := range n {
				g.Go(fmt.Sprint(i), func(g *racefuzz.G) { do(g, i) })
			}
		}
	}
	for _, c := range []struct {
		name    string
		classes int
		program racefuzz.Program
	}{
		{"nothing", 1, func(*racefuzz.G) {}},
		{"one goroutine", 1, func(g *racefuzz.G) { g.NewVar("x").Write(g, 1) }},
		{"own variables", 1, workers(5, func(g *racefuzz.G, _ int) {
			x := g.NewVar("x")
			x.Write(g, x.Read(g)+1)
		})},
		{"five readers", 1, func(g *racefuzz.G) {
			x := g.NewVar("x")
			workers(5, func(g *racefuzz.G, _ int) { x.Read(g) })(g)
		}},
		{"five writers", 120, func(g *racefuzz.G) {
			x := g.NewVar("x")
			workers(5, func(g *racefuzz.G, i int) { x.Write(g, i) })(g)
		}},
		{"a writer among four readers", 16, func(g *racefuzz.G) {
			x := g.NewVar("x")
			workers(5, func(g *racefuzz.G, i int) {
				if i == 0 {
					x.Write(g, 1)
				} else {
					x.Read(g)
				}
			})(g)
		}},
		{"four critical sections", 24, func(g *racefuzz.G) {
			x, l := g.NewVar("x"), g.NewMutex("l")
			workers(4, func(g *racefuzz.G, _ int) {
				l.Lock(g)
				x.Write(g, x.Read(g)+1)
				l.Unlock(g)
			})(g)
		}},
		{"a group of eight", 1, func(g *racefuzz.G) {
			w := g.NewWaitGroup("w")
			w.Add(g, 8)
			workers(8, func(g *racefuzz.G, _ int) { w.Done(g) })(g)
			w.Wait(g)
		}},
		{"a hundred steps each", 2, func(g *racefuzz.G) {
			x := g.NewVar("x")
			workers(2, func(g *racefuzz.G, i int) {
				y := g.NewVar("y")
				for range 100 {
					y.Write(g, 1)
				}
				x.Write(g, i)
			})(g)
		}},
		{"random numbers", 6, func(g *racefuzz.G) {
			if g.Random(2) == 0 {
				g.Yield()
			}
			g.Random(3)
		}},
	} {
		d := racefuzz.NewDPOR()
		for d.More() {
			run(t, c.program, d, 0)
		}
		if d.Executions() != c.classes || d.Err() != nil {
			t.Errorf("%s: %d executions, want %d; %v", c.name, d.Executions(), c.classes, d.Err())
		}
	}
}

// TestDPORLimits: what makes the enumeration incomplete is an error.
func TestDPORLimits(t *testing.T) {
	d := racefuzz.NewDPOR()
	for d.More() {
		run(t, func(g *racefuzz.G) {
			x := g.NewVar("x")
			g.Go("a", func(g *racefuzz.G) { x.Store(g, 1) })
			g.Go("b", func(g *racefuzz.G) {
				for i := 0; x.Load(g) == 0 && i < 1000; i++ {
					g.Yield()
				}
			})
		}, d, 0, racefuzz.WithStepLimit(10))
	}
	if !errors.Is(d.Err(), racefuzz.ErrCutOff) {
		t.Errorf("a program that spins: %v", d.Err())
	}

	d = racefuzz.NewDPOR()
	for n := 0; d.More(); n++ {
		if n == 100 {
			t.Fatal("there is no end")
		}
		run(t, func(g *racefuzz.G) {
			x := g.NewVar("x")
			for range 2 + n%2 {
				g.Go("g", func(g *racefuzz.G) { x.Write(g, 1) })
			}
		}, d, 0)
	}
	if !errors.Is(d.Err(), racefuzz.ErrNondeterministic) {
		t.Errorf("a program that changes: %v", d.Err())
	}

	wrapped := struct{ racefuzz.Strategy }{racefuzz.NewDPOR()}
	if _, err := racefuzz.Run(context.Background(), func(g *racefuzz.G) { g.Yield() }, wrapped, 0); !errors.Is(err, racefuzz.ErrStrategy) {
		t.Errorf("wrapped: %v", err)
	}
}

// TestDPORInterrupted: an execution that was interrupted is made again.
func TestDPORInterrupted(t *testing.T) {
	program := func(g *racefuzz.G) {
		x := g.NewVar("x")
		for i := range 3 {
			g.Go("g", func(g *racefuzz.G) { x.Write(g, i) })
		}
	}
	d := racefuzz.NewDPOR()
	for n := 0; d.More(); n++ {
		ctx, stop := context.WithCancel(context.Background())
		if n%2 == 0 {
			stop()
		}
		_, err := racefuzz.Run(ctx, program, d, 0)
		if stopped := n%2 == 0; stopped != (err != nil) {
			t.Fatal(err)
		}
		stop()
	}
	if d.Executions() != 6 || d.Err() != nil {
		t.Errorf("%d executions, %v", d.Executions(), d.Err())
	}
}

// TestDPORDeadlock: the deadlock of two locks is among few executions.
func TestDPORDeadlock(t *testing.T) {
	for d := racefuzz.NewDPOR(); ; {
		if !d.More() {
			t.Fatal("two locks that are acquired in both orders never deadlock")
		}
		r := run(t, func(g *racefuzz.G) {
			a, b := g.NewMutex("a"), g.NewMutex("b")
			work := func(first, second *racefuzz.Mutex) racefuzz.Program {
				return func(g *racefuzz.G) {
					first.Lock(g)
					second.Lock(g)
					second.Unlock(g)
					first.Unlock(g)
				}
			}
			g.Go("ab", work(a, b))
			g.Go("ba", work(b, a))
		}, d, 0)
		if r.Outcome == racefuzz.Deadlocked {
			return
		}
	}
}
