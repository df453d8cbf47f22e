package racefuzz_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/racefuzz"
)

// A random model: goroutines with a few steps each, on two objects of each kind.
type model [][]statement

type statement struct {
	do    string
	which int
	if1   bool // only if what was read last is not 0
	place string
}

// randomModel makes one. In a disciplined model every variable has a mutex that is held at all
// accesses, and mutexes are acquired in order.
func randomModel(rng *rand.Rand, disciplined bool) model {
	goroutines := 2 + rng.IntN(2)
	m := make(model, goroutines)
	for i := range m {
		var steps []statement
		add := func(do string, which int) {
			steps = append(steps, statement{do: do, which: which, place: fmt.Sprintf("%d.%d", i, len(steps))})
		}
		access := func(which int) {
			add([]string{"read", "write", "write"}[rng.IntN(3)], which)
			if !disciplined && len(steps) > 1 && steps[len(steps)-2].do == "read" && rng.IntN(2) == 0 {
				steps[len(steps)-1].if1 = true
			}
		}
		for room := 8 - 2*goroutines; room > 0; {
			if disciplined {
				which := rng.IntN(2)
				add("lock", which)
				access(which)
				if room > 3 && which == 0 && rng.IntN(2) == 0 {
					add("lock", 1)
					access(1)
					add("unlock", 1)
					room--
				}
				add("unlock", which)
				room -= 3
				continue
			}
			switch rng.IntN(11) {
			case 0: // a critical section
				which := rng.IntN(2)
				add("lock", which)
				access(rng.IntN(2))
				add("unlock", which)
				room -= 3
			case 1, 10: // nested ones, in any order
				if room < 4 {
					continue
				}
				which := rng.IntN(2)
				add("lock", which)
				add("lock", 1-which)
				add("unlock", 1-which)
				add("unlock", which)
				room -= 4
			case 2:
				add([]string{"rlock", "wlock"}[rng.IntN(2)], 0)
				access(rng.IntN(2))
				add(steps[len(steps)-2].do[:1]+"unlock", 0)
				room -= 3
			case 3:
				add([]string{"send", "send", "receive", "try", "any", "close"}[rng.IntN(6)], rng.IntN(2))
				room--
			case 4:
				add([]string{"load", "store", "add"}[rng.IntN(3)], rng.IntN(2))
				room--
			case 5:
				add([]string{"done", "wait"}[rng.IntN(2)], 0)
				room--
			default:
				access(rng.IntN(2))
				room--
			}
		}
		m[i] = steps
	}
	return m
}

func (m model) program(main *racefuzz.G) { m.observed(&observations{})(main) }

// observations are what an execution of a model shows besides its result.
type observations struct {
	begun [][]statement // for each goroutine of the model, the operations that it has begun or made
	seen  [][]int       // and what it has read and received
}

// observed returns the program of the model, which writes to o.
func (m model) observed(o *observations) racefuzz.Program {
	return func(main *racefuzz.G) {
		*o = observations{make([][]statement, len(m)), make([][]int, len(m))}
		m.start(main, o)
	}
}

// start makes the objects of the model and starts its goroutines.
func (m model) start(main *racefuzz.G, o *observations) {
	vars := []*racefuzz.Var{main.NewVar("x"), main.NewVar("y")}
	locks := []*racefuzz.Mutex{main.NewMutex("L"), main.NewMutex("M"), main.NewMutex("N")}
	rw := main.NewRWMutex("R")
	channels := []*racefuzz.Chan{main.NewChan("c", 0), main.NewChan("d", 1)}
	group := main.NewWaitGroup("w")
	for i, steps := range m {
		main.Go(fmt.Sprint(i), func(g *racefuzz.G) {
			read := 0
			for _, s := range steps {
				if s.if1 && read == 0 {
					continue
				}
				g.At(s.place)
				o.begun[i] = append(o.begun[i], s)
				switch s.do {
				case "read":
					read = vars[s.which].Read(g)
					o.saw(i, read)
				case "write":
					vars[s.which].Write(g, i+1)
				case "load":
					read = vars[s.which].Load(g)
					o.saw(i, read)
				case "store":
					vars[s.which].Store(g, i+1)
				case "add":
					o.saw(i, vars[s.which].Add(g, 1))
				case "lock":
					locks[s.which].Lock(g)
				case "unlock":
					locks[s.which].Unlock(g)
				case "rlock":
					rw.RLock(g)
				case "runlock":
					rw.RUnlock(g)
				case "wlock":
					rw.Lock(g)
				case "wunlock":
					rw.Unlock(g)
				case "send":
					channels[s.which].Send(g, i)
				case "receive":
					read, _ = channels[s.which].Receive(g)
					o.saw(i, read)
				case "try":
					read, _, _ = channels[s.which].TryReceive(g)
					o.saw(i, read)
				case "any":
					var which int
					which, read, _ = g.ReceiveAny(channels...)
					o.saw(i, which)
					o.saw(i, read)
				case "close":
					channels[s.which].Close(g)
				case "done":
					group.Add(g, 1-2*(i%2))
				case "wait":
					group.Wait(g)
				default:
					panic(s.do)
				}
			}
		})
	}
}

func (o *observations) saw(i, value int) { o.seen[i] = append(o.seen[i], value) }

func (m model) accesses() []string { return m.places("read", "write", "load", "store", "add") }

// places returns the places where one of the operations is made.
func (m model) places(do ...string) (places []string) {
	for _, steps := range m {
		for _, s := range steps {
			if slices.Contains(do, s.do) {
				places = append(places, s.place)
			}
		}
	}
	return places
}

// recorder keeps the events of an execution, each on its own line.
type recorder []heisen.Record

func (r *recorder) Handle(e heisen.Event) { *r = append(*r, *heisen.AsRecord(e)) }
func (r *recorder) Flush() error          { return nil }

// execute returns the result, the events of the execution, and a text that identifies it: all that
// happened in it.
func (m model) execute(t *testing.T, s racefuzz.Strategy, seed uint64, options ...racefuzz.RunOption) (*racefuzz.Result, recorder, string) {
	t.Helper()
	var events recorder
	r := run(t, m.program, s, seed, append(options, racefuzz.WithDetector(&events))...)
	what := slices.Clone(events)
	for i := range what {
		what[i].Site = 0 // places have numbers as they come, also in options
	}
	return r, events, fmt.Sprint(r.Outcome, r.Message, r.Waiting, r.Order, what)
}

// oracle has what all executions of a model show, from their events alone.
type oracle struct {
	executions map[string]bool
	pairs      map[[2]string]bool // conflicting accesses that came right after each other
	triples    map[[3]string]bool // accesses to a variable by one, another, and the first again
	deadlocks  bool
}

// explore returns nil if the model has too many executions.
func (m model) explore(t *testing.T, most int) *oracle {
	o := &oracle{executions: map[string]bool{}, pairs: map[[2]string]bool{}, triples: map[[3]string]bool{}}
	for e := racefuzz.NewExhaustive(); e.More(); {
		if len(o.executions) == most {
			return nil
		}
		r, events, x := m.execute(t, e, 0)
		if o.executions[x] {
			t.Fatal("the same execution twice: ", x)
		}
		o.executions[x] = true
		o.deadlocks = o.deadlocks || r.Outcome == racefuzz.Deadlocked
		o.learn(r, events)
		if e.Err() != nil {
			t.Fatal(e.Err())
		}
	}
	return o
}

func (o *oracle) learn(r *racefuzz.Result, events []heisen.Record) {
	events = slices.DeleteFunc(slices.Clone(events), func(x heisen.Record) bool {
		return x.Op == heisen.Begin || x.Op == heisen.End // they come along with the step before
	})
	place := func(x heisen.Record) string { return r.Symbols.Site(x.Site).String() }
	for i, x := range events {
		if !x.Op.IsAccess() {
			continue
		}
		if i > 0 {
			if w := events[i-1]; w.Object == x.Object && w.Thread != x.Thread && w.Op.Conflicts(x.Op) {
				o.pairs[pair(place(w), place(x))] = true
			}
		}
		for j, y := range events[:i] {
			if !y.Op.IsAccess() || y.Object != x.Object || y.Thread != x.Thread {
				continue
			}
			for _, z := range events[j:i] {
				if z.Op.IsAccess() && z.Object == x.Object && z.Thread != x.Thread {
					o.triples[[3]string{place(y), place(z), place(x)}] = true
				}
			}
		}
	}
}

func pair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// strategies returns one strategy of each kind, with a low postpone limit.
func strategies(t testing.TB) []racefuzz.Strategy {
	strategy, patience := must(t), racefuzz.WithPostponeLimit(50)
	return []racefuzz.Strategy{
		racefuzz.RandomWalk(),
		racefuzz.POS(),
		strategy(racefuzz.PCT(2, 12, patience)),
		strategy(racefuzz.PCT(4, 12, patience)),
		strategy(racefuzz.RaceDirected(patience)),
		strategy(racefuzz.DeadlockDirected(patience)),
		strategy(racefuzz.SectionDirected(patience)),
		strategy(racefuzz.Replay([]racefuzz.Choice{{Step: 2, ID: 1}, {Step: 4, ID: 2}})),
		strategy(racefuzz.Follow(turnsOf([]uint32{0, 1, 0, 1, 2, 2, 3, 1, 1}), patience)),
	}
}

// turnsOf returns turns of one operation each.
func turnsOf(order []uint32) (turns []racefuzz.Turn) {
	made := map[uint32]uint64{}
	for _, id := range order {
		made[id]++
		turns = append(turns, racefuzz.Turn{ID: id, Until: made[id] + 1})
	}
	return turns
}

// rate counts how often something possible happened.
type rate struct{ hit, of int }

func (r *rate) add(hit bool) {
	if r.of++; hit {
		r.hit++
	}
}

func (r rate) String() string {
	return fmt.Sprintf("%d of %d (%.1f%%)", r.hit, r.of, 100*float64(r.hit)/float64(max(r.of, 1)))
}

// TestAgainstExhaustive compares the executions of all strategies on random models with the
// enumeration of all executions.
func TestAgainstExhaustive(t *testing.T) {
	models := tier.Pick(30, 30, 60)
	rng := rand.New(rand.NewPCG(1, 2))
	var executions int
	var pairs, seeds, walk, triples rate
	for n := 0; n < models; {
		m := randomModel(rng, false)
		o := m.explore(t, 3000)
		if o == nil {
			continue
		}
		n++
		executions += len(o.executions)
		m.checkPossible(t, o)

		accesses := m.accesses()
		directed := must(t)(racefuzz.RaceDirected())
		for i, a := range accesses {
			for _, b := range accesses[i+1:] {
				hits := 0
				for seed := range uint64(20) {
					r := run(t, m.program, directed, seed, racefuzz.WithRoles(racefuzz.First, a), racefuzz.WithRoles(racefuzz.Second, b))
					if len(r.Meetings) > 0 {
						hits++
					}
					if o.pairs[pair(a, b)] {
						seeds.add(len(r.Meetings) > 0)
						r = run(t, m.program, racefuzz.RandomWalk(), seed, racefuzz.WithRoles(racefuzz.First, a), racefuzz.WithRoles(racefuzz.Second, b))
						walk.add(len(r.Meetings) > 0)
					}
				}
				switch {
				case o.pairs[pair(a, b)]:
					pairs.add(hits > 0)
				case hits > 0:
					t.Fatalf("%v: %s and %s never race, and were confirmed", m, a, b)
				}
			}
		}
		m.sections(t, o, rng, &triples)
	}
	t.Logf("%d models, %d executions", models, executions)
	t.Logf("racy pairs confirmed within 20 seeds: %v; by a seed: %v; by a random walk: %v", pairs, seeds, walk)
	t.Logf("sections violated within 20 seeds: %v", triples)
	if pairs.hit*10 < pairs.of*9 || seeds.hit*2 < seeds.of || triples.hit*2 < triples.of {
		t.Error("that is too few")
	}
}

// checkPossible runs all strategies. Each execution must be one of the enumerated ones, with the
// same meetings, and a repetition must be equal.
func (m model) checkPossible(t *testing.T, o *oracle) {
	options := []racefuzz.RunOption{
		racefuzz.WithRoles(racefuzz.First|racefuzz.Entry|racefuzz.Remote|racefuzz.End, m.accesses()...),
		racefuzz.WithRoles(racefuzz.Inner, m.places("lock", "rlock", "wlock")...),
	}
	for _, s := range strategies(t) {
		for seed := range uint64(10) {
			r, _, this := m.execute(t, s, seed, options...)
			if !o.executions[this] {
				t.Fatalf("%v: %v, seed %d: %s is not possible", m, s, seed, this)
			}
			for _, x := range r.Meetings {
				a, b := r.Place(x.First.Place), r.Place(x.Second.Place)
				possible := o.pairs[pair(a, b)]
				if x.Kind == racefuzz.Violation {
					possible = slices.ContainsFunc(m.accesses(), func(entry string) bool {
						return o.triples[[3]string{entry, a, b}]
					})
				}
				if !possible {
					t.Fatalf("%v: %v, seed %d: %+v is not possible", m, s, seed, x)
				}
			}
			again := must(t)(racefuzz.Replay(r.Choices))
			if q, _, x := m.execute(t, again, seed, options...); x != this || q.Hash != r.Hash ||
				!slices.Equal(q.Meetings, r.Meetings) || !slices.Equal(q.Choices, r.Choices) || q.Diverged != 0 {
				t.Fatalf("%v: %v, seed %d: the replay differs", m, s, seed)
			}
			follow := must(t)(racefuzz.Follow(turnsOf(r.Order)))
			if q, _, x := m.execute(t, follow, seed, options...); x != this || q.Diverged != 0 {
				t.Fatalf("%v: %v, seed %d: following differs", m, s, seed)
			}
			if _, _, x := m.execute(t, s, seed, options...); x != this {
				t.Fatalf("%v: %v, seed %d: the same seed differs", m, s, seed)
			}
		}
	}
}

// sections directs a strategy at some sections of the model and some accesses of other goroutines.
func (m model) sections(t *testing.T, o *oracle, rng *rand.Rand, hits *rate) {
	s := must(t)(racefuzz.SectionDirected())
	for range 20 {
		g, other := rng.IntN(len(m)), rng.IntN(len(m))
		mine, theirs := m[g:g+1].accesses(), m[other:other+1].accesses()
		if g == other || len(mine) < 2 || len(theirs) == 0 {
			continue
		}
		entry := rng.IntN(len(mine) - 1)
		triple := [3]string{mine[entry], theirs[rng.IntN(len(theirs))], mine[entry+1]}
		hit := false
		for seed := range uint64(20) {
			r := run(t, m.program, s, seed, racefuzz.WithRoles(racefuzz.Entry, triple[0]),
				racefuzz.WithRoles(racefuzz.Remote, triple[1]), racefuzz.WithRoles(racefuzz.End, triple[2]))
			hit = hit || len(r.Meetings) > 0
		}
		if o.triples[triple] {
			hits.add(hit)
		} else if hit {
			t.Fatalf("%v: %v is not possible, and was confirmed", m, triple)
		}
	}
}

// TestDeadlocks has goroutines that acquire two of three locks each.
func TestDeadlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var directed, walk, pct rate
	some := must(t)(racefuzz.DeadlockDirected())
	depth2 := must(t)(racefuzz.PCT(2, 20))
	for n := 0; n < 40; {
		m := make(model, 2+rng.IntN(2))
		var inner []string
		for i := range m {
			first := rng.IntN(3)
			second := (first + 1 + rng.IntN(2)) % 3
			for _, s := range []statement{{do: "lock", which: first}, {do: "lock", which: second},
				{do: "unlock", which: second}, {do: "unlock", which: first}} {
				s.place = fmt.Sprintf("%d.%d", i, len(m[i]))
				m[i] = append(m[i], s)
			}
			inner = append(inner, m[i][1].place)
		}
		o := m.explore(t, 5000)
		if o == nil {
			continue
		}
		n++
		for seed := range uint64(20) {
			r, _, x := m.execute(t, some, seed, racefuzz.WithRoles(racefuzz.Inner, inner...))
			if !o.executions[x] {
				t.Fatalf("%v, seed %d: %s is not possible", m, seed, x)
			}
			if o.deadlocks {
				directed.add(r.Outcome == racefuzz.Deadlocked)
				walk.add(run(t, m.program, racefuzz.RandomWalk(), seed).Outcome == racefuzz.Deadlocked)
				pct.add(run(t, m.program, depth2, seed).Outcome == racefuzz.Deadlocked)
			}
		}
	}
	t.Logf("deadlocks by a seed: %v; by a random walk: %v; by PCT: %v", directed, walk, pct)
	if directed.hit*10 < directed.of*9 || directed.hit <= walk.hit {
		t.Error("that is too few")
	}
}

// TestDisciplined has models in which everything is synchronized: nothing is ever confirmed.
func TestDisciplined(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		m := randomModel(rng, true)
		accesses := m.accesses()
		for _, s := range strategies(t) {
			for seed := range uint64(20) {
				r := run(t, m.program, s, seed, racefuzz.WithRoles(racefuzz.First|racefuzz.Second, accesses...),
					racefuzz.WithRoles(racefuzz.Inner, m.places("lock")...))
				if len(r.Meetings) > 0 || r.Outcome != racefuzz.Finished {
					t.Fatalf("%v: %v, seed %d: %v, %v", m, s, seed, r.Outcome, r.Meetings)
				}
			}
		}
	}
}

func TestIrregular(t *testing.T) {
	other := 0
	e := racefuzz.NewExhaustive()
	for e.More() {
		other++
		_, err := racefuzz.Run(context.Background(), func(g *racefuzz.G) {
			for range 1 + other%2 {
				g.Go("g", func(g *racefuzz.G) { g.Yield() })
			}
		}, e, 0)
		if err != nil {
			t.Fatal(err)
		}
		if other > 100 {
			t.Fatal("there is no end")
		}
	}
	if !errors.Is(e.Err(), racefuzz.ErrNondeterministic) {
		t.Errorf("%d executions, %v", other, e.Err())
	}
}
