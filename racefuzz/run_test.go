package racefuzz_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcomes enumerates the executions of a program and counts their outcomes.
func outcomes(t *testing.T, program racefuzz.Program) map[string]int {
	t.Helper()
	ends := map[string]int{}
	for e := racefuzz.NewExhaustive(); e.More(); {
		r := run(t, program, e, 0)
		end := r.Outcome.String()
		if r.Message != "" {
			end += ": " + r.Message
		}
		ends[end]++
	}
	return ends
}

// TestOperations checks that the objects of models behave as those of Go, in all executions.
func TestOperations(t *testing.T) {
	type g = *racefuzz.G
	for _, c := range []struct {
		name    string
		program racefuzz.Program
		want    string // all that happens, sorted
	}{
		{"nothing", func(g) {}, "finished"},
		{"lost update", func(m g) {
			x := m.NewVar("x")
			add := func(g g) { x.Write(g, x.Read(g)+1) }
			a, b := m.Go("a", add), m.Go("b", add)
			m.Join(a)
			m.Join(b)
			m.Assert(x.Read(m) == 2, "%d", x.Read(m))
		}, "failed: 1|finished"},
		{"atomic update", func(m g) {
			x := m.NewVar("x")
			add := func(g g) { x.Add(g, 1) }
			a, b := m.Go("a", add), m.Go("b", add)
			m.Join(a)
			m.Join(b)
			m.Assert(x.Load(m) == 2, "%d", x.Load(m))
		}, "finished"},
		{"compare and swap", func(m g) {
			x, won := m.NewVar("x"), m.NewVar("won")
			try := func(g g) {
				if x.CompareAndSwap(g, 0, 1) {
					won.Add(g, 1)
				}
			}
			a, b := m.Go("a", try), m.Go("b", try)
			m.Join(a)
			m.Join(b)
			m.Assert(won.Load(m) == 1, "%d won", won.Load(m))
		}, "finished"},
		{"mutex", func(m g) {
			l, in := m.NewMutex("L"), 0
			for _, name := range []string{"a", "b"} {
				m.Go(name, func(g g) {
					l.Lock(g)
					in++
					g.Yield()
					g.Assert(in == 1, "%d are in", in)
					in--
					l.Unlock(g)
				})
			}
		}, "finished"},
		{"two locks", func(m g) {
			a, b := m.NewMutex("A"), m.NewMutex("B")
			lock := func(x, y *racefuzz.Mutex) racefuzz.Program {
				return func(g g) {
					x.Lock(g)
					y.Lock(g)
					y.Unlock(g)
					x.Unlock(g)
				}
			}
			m.Go("ab", lock(a, b))
			m.Go("ba", lock(b, a))
		}, "deadlock|finished"},
		{"readers together", func(m g) {
			l, in, most := m.NewRWMutex("L"), 0, 0
			read := func(g g) {
				l.RLock(g)
				in++
				most = max(most, in)
				g.Yield()
				in--
				l.RUnlock(g)
			}
			a, b := m.Go("a", read), m.Go("b", read)
			m.Join(a)
			m.Join(b)
			m.Assert(most == 1, "together")
		}, "failed: together|finished"},
		{"writer alone", func(m g) {
			l, readers, writers := m.NewRWMutex("L"), 0, 0
			m.Go("r", func(g g) {
				l.RLock(g)
				readers++
				g.Yield()
				g.Assert(writers == 0, "a writer is in")
				readers--
				l.RUnlock(g)
			})
			m.Go("w", func(g g) {
				l.Lock(g)
				writers++
				g.Yield()
				g.Assert(readers == 0, "a reader is in")
				writers--
				l.Unlock(g)
			})
		}, "finished"},
		{"reading twice while a writer waits", func(m g) {
			l := m.NewRWMutex("L")
			m.Go("r", func(g g) {
				l.RLock(g)
				l.RLock(g)
				l.RUnlock(g)
				l.RUnlock(g)
			})
			m.Go("w", func(g g) {
				l.Lock(g)
				l.Unlock(g)
			})
		}, "deadlock|finished"},
		{"channels", func(m g) {
			for capacity := range 2 {
				c := m.NewChan("c", capacity)
				m.Go("s", func(g g) {
					c.Send(g, 1)
					c.Send(g, 2)
					c.Close(g)
				})
				for want := 1; want <= 2; want++ {
					v, ok := c.Receive(m)
					m.Assert(ok && v == want, "%d", v)
				}
				v, ok := c.Receive(m)
				m.Assert(!ok && v == 0, "closed, and %d", v)
			}
		}, "finished"},
		{"senders in any order", func(m g) {
			c := m.NewChan("c", 0)
			for i := range 2 {
				m.Go("s", func(g g) { c.Send(g, i) })
			}
			first, _ := c.Receive(m)
			c.Receive(m)
			m.Assert(first == 0, "1 first")
		}, "failed: 1 first|finished"},
		{"without a receiver", func(m g) { m.NewChan("c", 0).Send(m, 1) }, "deadlock"},
		{"with room", func(m g) { m.NewChan("c", 1).Send(m, 1) }, "finished"},
		{"closed under a sender", func(m g) {
			c := m.NewChan("c", 0)
			m.Go("s", func(g g) { c.Send(g, 1) })
			c.Close(m)
		}, "panic: send on closed channel c"},
		{"receiving from any", func(m g) {
			c, d := m.NewChan("c", 0), m.NewChan("d", 1)
			for i, to := range []*racefuzz.Chan{c, d} {
				m.Go("s", func(g g) { to.Send(g, i) })
			}
			m.Yield()
			i, v, ok := m.ReceiveAny(c, d)
			m.Assert(ok && i == v, "%d from %d", v, i)
			j, v, ok := m.ReceiveAny(c, d)
			m.Assert(ok && j == v && i != j, "%d from %d", v, j)
			m.Assert(i == 0, "d first")
		}, "failed: d first|finished"},
		{"receiving from any, when both are ready", func(m g) {
			c, d := m.NewChan("c", 1), m.NewChan("d", 0)
			c.Send(m, 5)
			d.Close(m)
			i, v, ok := m.ReceiveAny(c, d)
			m.Assert(i == 1 || ok && v == 5, "%d", v)
			m.Assert(i == 0 || !ok && v == 0, "closed, and %d", v)
			m.Assert(i == 0, "d")
		}, "failed: d|finished"},
		{"receiving from none", func(m g) { m.ReceiveAny() }, "deadlock"},
		{"trying to receive", func(m g) {
			c, done := m.NewChan("c", 0), m.NewVar("done")
			m.Go("s", func(g g) {
				c.Send(g, 7)
				done.Store(g, 1)
			})
			v, ok, received := c.TryReceive(m)
			m.Assert(received == ok && (v == 7) == ok, "%d %t %t", v, ok, received)
			if !received {
				m.Assert(done.Load(m) == 0, "sent to nobody")
				c.Receive(m)
			}
			m.Assert(received, "not yet")
		}, "failed: not yet|finished"},
		{"closed twice", func(m g) {
			c := m.NewChan("c", 0)
			c.Close(m)
			c.Close(m)
		}, "panic: close of closed channel c"},
		{"recovered", func(m g) {
			c := m.NewChan("c", 0)
			c.Close(m)
			func() {
				defer func() { recover() }()
				c.Send(m, 1)
			}()
			m.Yield()
		}, "finished"},
		{"wait group", func(m g) {
			w, done := m.NewWaitGroup("w"), 0
			w.Add(m, 2)
			for range 2 {
				m.Go("g", func(g g) {
					done++
					w.Done(g)
				})
			}
			w.Wait(m)
			m.Assert(done == 2, "%d done", done)
		}, "finished"},
		{"added too late", func(m g) {
			w := m.NewWaitGroup("w")
			done := false
			m.Go("g", func(g g) {
				w.Add(g, 1)
				done = true
				w.Done(g)
			})
			w.Wait(m)
			m.Assert(done, "not done")
		}, "failed: not done|finished"},
		{"too often done", func(m g) { m.NewWaitGroup("w").Done(m) }, "panic: negative count of wait group w"},
		{"unlocked", func(m g) { m.NewMutex("L").Unlock(m) }, "panic: unlock of unlocked mutex L"},
		{"unlocked for reading", func(m g) { m.NewRWMutex("L").RUnlock(m) }, "panic: read-unlock of unlocked mutex L"},
		{"random", func(m g) { m.Assert(m.Random(3) != 2, "2") }, "failed: 2|finished"},
		{"joined by itself", func(m g) { m.Join(m) }, "deadlock"},
		{"panic", func(m g) {
			m.Go("a", func(g g) {
				g.Yield()
				panic(errors.New("oh"))
			})
			m.Yield()
		}, "panic: oh"},
		{"used by another", func(m g) {
			m.Go("a", func(g) { m.Yield() })
			m.Yield()
		}, "panic: racefuzz: goroutine main is used by a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ends []string
			for end := range outcomes(t, c.program) {
				ends = append(ends, end)
			}
			slices.Sort(ends)
			if got := strings.Join(ends, "|"); got != c.want {
				t.Errorf("%s, not %s", got, c.want)
			}
		})
	}
}

func TestWhoWaits(t *testing.T) {
	program := func(g *racefuzz.G) {
		a, b := g.NewMutex("A"), g.NewMutex("B")
		first := g.Go("first", func(g *racefuzz.G) {
			a.Lock(g.At("1"))
			b.Lock(g.At("2"))
		})
		g.Go("second", func(g *racefuzz.G) {
			b.Lock(g.At("3"))
			a.Lock(g.At("4"))
		})
		c, d := g.NewChan("c", 0), g.NewChan("d", 1)
		g.Go("third", func(g *racefuzz.G) { g.ReceiveAny(c, d) })
		g.Join(first)
	}
	s := must(t)(racefuzz.DeadlockDirected())
	r := run(t, program, s, 1, racefuzz.WithRoles(racefuzz.Inner, "2", "4"))
	var lines []string
	for _, w := range r.Waiting {
		lines = append(lines, w.String())
	}
	want := []string{
		"main waits to join first",
		"first waits to lock B at 2, holding A",
		"second waits to lock A at 4, holding B",
		"third waits to receive from any of c, d",
	}
	if r.Outcome != racefuzz.Deadlocked || !slices.Equal(lines, want) {
		t.Errorf("%v: %q", r.Outcome, lines)
	}
}

func TestCutOff(t *testing.T) {
	unwound := 0
	program := func(g *racefuzz.G) {
		l := g.NewMutex("L")
		for range 3 {
			g.Go("spinning", func(g *racefuzz.G) {
				defer func() { unwound++ }()
				defer l.Unlock(g) // an operation of who is cut off
				l.Lock(g)
				for {
					g.Yield()
				}
			})
		}
	}
	r := run(t, program, racefuzz.RandomWalk(), 1, racefuzz.WithStepLimit(100))
	if r.Outcome != racefuzz.CutOff || r.Steps != 100 || len(r.Order) != 100 || unwound != 3 {
		t.Errorf("%v after %d steps, %d unwound", r.Outcome, r.Steps, unwound)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := racefuzz.Run(ctx, program, racefuzz.RandomWalk(), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

type wrong struct{ racefuzz.Strategy }

func (wrong) Next(tasks []racefuzz.Task, _ uint32) int { return len(tasks) }

func TestMisuse(t *testing.T) {
	yields := func(g *racefuzz.G) { g.Yield() }
	if _, err := racefuzz.Run(context.Background(), yields, wrong{racefuzz.RandomWalk()}, 0); !errors.Is(err, racefuzz.ErrStrategy) {
		t.Errorf("%v", err)
	}
	for i, err := range []error{
		func() error { _, err := racefuzz.Run(context.Background(), nil, racefuzz.RandomWalk(), 0); return err }(),
		func() error { _, err := racefuzz.Run(context.Background(), yields, nil, 0); return err }(),
		func() error {
			var ctx context.Context
			_, err := racefuzz.Run(ctx, yields, racefuzz.RandomWalk(), 0)
			return err
		}(),
	} {
		if !errors.Is(err, heisen.ErrOption) {
			t.Errorf("nothing %d: %v", i, err)
		}
	}
	for i, o := range []racefuzz.RunOption{racefuzz.WithStepLimit(0), racefuzz.WithRoles(0, "1"), racefuzz.WithRoles(1<<7, "1"),
		racefuzz.WithRoles(racefuzz.First, ""), racefuzz.WithDetector(nil), nil} {
		if _, err := racefuzz.Run(context.Background(), yields, racefuzz.RandomWalk(), 0, o); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("option %d: %v", i, err)
		}
	}
	for i, f := range []func() (racefuzz.Strategy, error){
		func() (racefuzz.Strategy, error) { return racefuzz.PCT(0, 10) },
		func() (racefuzz.Strategy, error) { return racefuzz.PCT(17, 10) },
		func() (racefuzz.Strategy, error) { return racefuzz.PCT(1, 0) },
		func() (racefuzz.Strategy, error) { return racefuzz.RaceDirected(racefuzz.WithPostponeLimit(0)) },
		func() (racefuzz.Strategy, error) { return racefuzz.DeadlockDirected(nil) },
		func() (racefuzz.Strategy, error) {
			return racefuzz.Replay([]racefuzz.Choice{{Step: 1, ID: 1}, {Step: 1, ID: 2}})
		},
	} {
		if s, err := f(); s != nil || !errors.Is(err, heisen.ErrOption) {
			t.Errorf("strategy %d: %v", i, err)
		}
	}
	var leaked *racefuzz.Var
	run(t, func(g *racefuzz.G) { leaked = g.NewVar("x") }, racefuzz.RandomWalk(), 0)
	r := run(t, func(g *racefuzz.G) { leaked.Read(g) }, racefuzz.RandomWalk(), 0)
	if r.Outcome != racefuzz.Panicked {
		t.Errorf("a variable of another execution: %v", r.Outcome)
	}
}

// TestZero uses zero values. In a model they panic with a message, which is an outcome;
// elsewhere they do nothing.
func TestZero(t *testing.T) {
	var (
		x  racefuzz.Var
		m  racefuzz.Mutex
		rw racefuzz.RWMutex
		c  racefuzz.Chan
		w  racefuzz.WaitGroup
		g  racefuzz.G
	)
	for i, f := range []racefuzz.Program{
		func(g *racefuzz.G) { x.Read(g) },
		func(g *racefuzz.G) { m.Lock(g) },
		func(g *racefuzz.G) { rw.RLock(g) },
		func(g *racefuzz.G) { c.Send(g, 1) },
		func(g *racefuzz.G) { g.ReceiveAny(&c) },
		func(g *racefuzz.G) { g.ReceiveAny(nil) },
		func(g *racefuzz.G) { w.Done(g) },
		func(g *racefuzz.G) { g.NewVar("x").Read(nil) },
		func(g *racefuzz.G) { g.NewVar("x").Read(&racefuzz.G{}) },
		func(*racefuzz.G) { g.Yield() },
		func(*racefuzz.G) { g.NewMutex("m") },
		func(g *racefuzz.G) { g.Join(nil) },
		func(g *racefuzz.G) { g.Go("none", nil) },
	} {
		r := run(t, f, racefuzz.RandomWalk(), 0)
		if r.Outcome != racefuzz.Panicked || !strings.HasPrefix(r.Message, "racefuzz: ") {
			t.Errorf("%d: %v, %q", i, r.Outcome, r.Message)
		}
	}
	if r := run(t, func(g *racefuzz.G) { g.Yield() }, &racefuzz.Exhaustive{}, 0); r.Outcome != racefuzz.Finished {
		t.Errorf("the zero Exhaustive: %v", r.Outcome)
	}
	var r racefuzz.Result
	if turns, err := r.Turns(nil, 0); r.Place(1) != "?" || len(turns) != 0 || err != nil {
		t.Errorf("the zero Result: %v, %v", turns, err)
	}
}

// TestAfterItsExecution checks that a goroutine or an object of a model that is used after the
// execution panics with a sentence, whether the goroutine had returned or was unwound.
func TestAfterItsExecution(t *testing.T) {
	for name, program := range map[string]func(g *racefuzz.G, m *racefuzz.Mutex){
		"returned": func(*racefuzz.G, *racefuzz.Mutex) {},
		"unwound":  func(g *racefuzz.G, m *racefuzz.Mutex) { m.Lock(g); m.Lock(g) },
	} {
		var g *racefuzz.G
		var m *racefuzz.Mutex
		run(t, func(main *racefuzz.G) {
			g, m = main, main.NewMutex("m")
			program(g, m)
		}, racefuzz.RandomWalk(), 0)
		for use, f := range map[string]func(){
			"Yield": g.Yield, "Lock": func() { m.Lock(g) }, "At": func() { g.At("here") },
			"NewVar": func() { g.NewVar("x") }, "Random": func() { g.Random(2) }, "Assert": func() { g.Assert(true, "") },
		} {
			func() {
				defer func() {
					const want = "racefuzz: goroutine main is used after its execution"
					if got := recover(); got != want {
						t.Errorf("%s, %s: panic %v, want %q", name, use, got, want)
					}
				}()
				f()
			}()
		}
	}
}

// TestSpinning has programs that end if the scheduler is fair, even if the strategy is directed at
// what they wait for.
func TestSpinning(t *testing.T) {
	programs := map[string]racefuzz.Program{
		"yield": func(g *racefuzz.G) {
			x := g.NewVar("x")
			for range 3 {
				g.Go("waits", func(g *racefuzz.G) {
					for x.Load(g) == 0 {
						g.Yield()
					}
				})
			}
			g.Yield()
			x.Store(g.At("set"), 1)
		},
		"lock": func(g *racefuzz.G) {
			x, l := g.NewVar("x"), g.NewMutex("L")
			for range 3 {
				g.Go("waits", func(g *racefuzz.G) {
					for seen := 0; seen == 0; {
						l.Lock(g)
						seen = x.Read(g)
						l.Unlock(g)
					}
				})
			}
			l.Lock(g.At("set"))
			x.Write(g.At("set"), 1)
			l.Unlock(g)
		},
		"atomic": func(g *racefuzz.G) {
			x := g.NewVar("x")
			for range 3 {
				g.Go("waits", func(g *racefuzz.G) {
					for x.Load(g) == 0 {
					}
				})
			}
			x.Store(g.At("set"), 1)
		},
	}
	for name, program := range programs {
		for _, s := range strategies(t) {
			for seed := range uint64(20) {
				r := run(t, program, s, seed, racefuzz.WithStepLimit(100000), racefuzz.WithRoles(racefuzz.First|racefuzz.Remote|racefuzz.Inner, "set"))
				if r.Outcome != racefuzz.Finished {
					t.Fatalf("%s: %v, seed %d: %v", name, s, seed, r.Outcome)
				}
			}
		}
	}
}

// TestPCTGuarantee counts how often PCT finds bugs of depths 1 and 2.
func TestPCTGuarantee(t *testing.T) {
	program := func(g *racefuzz.G) { // 3 goroutines, 2+4+6 steps
		x := g.NewVar("x")
		g.Go("a", func(g *racefuzz.G) {
			for range 3 {
				g.Yield()
			}
			x.Write(g, 1)
		})
		g.Go("b", func(g *racefuzz.G) {
			before := x.Load(g)
			for range 4 {
				x.Load(g)
			}
			after := x.Load(g)
			g.Assert(before != 0, "b before a")
			g.Assert(after == before, "a within b")
		})
	}
	const seeds, n, k = 4000, 3, 12
	for depth := 1; depth <= 2; depth++ {
		found := map[string]int{}
		s := must(t)(racefuzz.PCT(depth, k))
		for seed := range uint64(seeds) {
			found[run(t, program, s, seed).Message]++
		}
		if found["b before a"] < seeds/n*9/10 {
			t.Errorf("depth %d: %v", depth, found)
		}
	}
	torn := 0
	s := must(t)(racefuzz.PCT(2, k))
	for seed := range uint64(seeds) {
		r := run(t, func(g *racefuzz.G) {
			x := g.NewVar("x")
			g.Go("a", func(g *racefuzz.G) { x.Write(g, 1) })
			g.Go("b", func(g *racefuzz.G) {
				before := x.Read(g)
				g.Assert(x.Read(g) == before, "torn")
			})
		}, s, seed)
		if r.Outcome == racefuzz.Failed {
			torn++
		}
	}
	if torn < seeds/(n*k)*9/10 {
		t.Errorf("torn in %d of %d", torn, seeds)
	}
}

// TestEvents checks the events of random models. They are well-formed, and their order is right:
// some execution has a happens-before race if and only if conflicting accesses are adjacent in some
// execution.
func TestEvents(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	racy := 0
	for n := 0; n < 60; {
		m := randomModel(rng, false)
		o := m.explore(t, 1000)
		if o == nil {
			continue
		}
		n++
		races := 0
		for e := racefuzz.NewExhaustive(); e.More(); {
			v, err := trace.NewValidator(nil)
			if err != nil {
				t.Fatal(err)
			}
			reference, err := vclock.NewHappensBefore(vclock.WithSink(func(heisen.Finding) { races++ }))
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, m.program, e, 0, racefuzz.WithDetector(heisen.Tee(v, reference)))
			if err := errors.Join(v.Flush(), reference.Flush()); err != nil {
				t.Fatal(err)
			}
			if r.Outcome == racefuzz.Finished && v.Total() > 0 {
				t.Fatalf("%v: %v", m, v.Problems())
			}
		}
		if (races > 0) != (len(o.pairs) > 0) {
			t.Fatalf("%v: %d races of happens-before, but %v", m, races, o.pairs)
		}
		if races > 0 {
			racy++
		}
	}
	t.Logf("%d of 60 models have races", racy)
}

// TestNames checks the names of strategies, which stand in schedules.
func TestNames(t *testing.T) {
	strategy := must(t)
	for _, c := range []struct {
		s    racefuzz.Strategy
		want string
	}{
		{racefuzz.RandomWalk(), "random-walk"},
		{racefuzz.POS(), "pos"},
		{strategy(racefuzz.PCT(3, 100)), "pct depth=3 steps=100"},
		{strategy(racefuzz.PCT(3, 100, racefuzz.WithPostponeLimit(7))), "pct depth=3 steps=100 patience=7"},
		{strategy(racefuzz.RaceDirected()), "race-directed"},
		{strategy(racefuzz.DeadlockDirected()), "deadlock-directed"},
		{strategy(racefuzz.SectionDirected(racefuzz.WithPostponeLimit(9))), "section-directed patience=9"},
		{strategy(racefuzz.Replay(nil)), "replay"},
		{strategy(racefuzz.Follow(nil)), "follow"},
		{racefuzz.NewExhaustive(), "exhaustive"},
	} {
		if got := c.s.(interface{ String() string }).String(); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}

// TestRandomNumbers checks that a program's random numbers depend on the seed and not on the
// choices, and that a replay with the seed draws the same numbers.
func TestRandomNumbers(t *testing.T) {
	var drawn []int
	program := func(g *racefuzz.G) {
		for range 2 {
			g.Go("g", func(g *racefuzz.G) {
				g.Yield()
				drawn = append(drawn, g.Random(1000))
				g.Yield()
			})
		}
	}
	draw := func(s racefuzz.Strategy, seed uint64) []int {
		drawn = nil
		run(t, program, s, seed)
		return drawn
	}
	walk, replay := racefuzz.RandomWalk(), must(t)(racefuzz.Replay(nil))
	if a, b := draw(walk, 1), draw(walk, 2); slices.Equal(a, b) {
		t.Errorf("two seeds, and %v both times", a)
	}
	for seed := range uint64(20) {
		if a, b := draw(walk, seed), draw(replay, seed); !slices.Equal(a, b) {
			t.Errorf("seed %d: %v, and %v in another order", seed, a, b)
		}
	}
	drawn = nil
	for all := racefuzz.NewExhaustive(); all.More(); {
		run(t, func(g *racefuzz.G) { drawn = append(drawn, 10*g.Random(2)+g.Random(3)) }, all, 0)
	}
	if want := []int{0, 1, 2, 10, 11, 12}; !slices.Equal(drawn, want) {
		t.Errorf("all numbers are %v", drawn)
	}
}
