package mcm

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/racefuzz"
)

// A random program: goroutines with a few steps each. Package racefuzz makes all of
// its executions, and so knows which of its accesses race.
type program [][]statement

type statement struct {
	do    string
	which int
	value int
	if1   bool // only if what was read last is not 0
	place string
}

// kinds are what programs are made of.
var kinds = []struct {
	name       string
	operations []string
}{
	{"channels", []string{"send", "send", "receive", "receive", "close"}},
	{"polls", []string{"send", "send", "receive", "try", "try", "any", "close"}},
	{"wait groups", []string{"add", "done", "done", "wait"}},
	{"atomics", []string{"load", "load", "store", "increase", "swap", "swap"}},
	{"locks", []string{"section", "section", "shared section"}},
	{"nested locks", []string{"section", "nested sections"}},
	{"all", []string{"send", "receive", "try", "any", "close", "add", "done", "wait", "load", "store", "increase", "swap", "section", "shared section"}},
}

// randomProgram makes one of the operations named, with accesses in between. Small ones
// have few executions.
func randomProgram(rng *rand.Rand, operations []string, small bool) program {
	goroutines := 2 + rng.IntN(2)
	size := 9 - 2*goroutines
	if small {
		size -= 2
	}
	p := make(program, goroutines)
	for i := range p {
		var steps []statement
		add := func(s statement) {
			s.place = fmt.Sprintf("%d.%d", i, len(steps))
			steps = append(steps, s)
		}
		access := func() {
			s := statement{do: []string{"read", "write", "write"}[rng.IntN(3)], which: rng.IntN(2), value: 1 + rng.IntN(2)}
			s.if1 = len(steps) > 0 && rng.IntN(4) == 0
			add(s)
		}
		for room := size + rng.IntN(2); room > 0; room-- {
			if rng.IntN(5) < 2 {
				access()
				continue
			}
			s := statement{do: operations[rng.IntN(len(operations))], which: rng.IntN(2), value: 1 + rng.IntN(2)}
			section, shared := "lock", "rlock"
			switch s.do {
			case "section":
				if rng.IntN(4) == 0 {
					section = "wlock"
				}
				add(statement{do: section, which: s.which})
				access()
				if rng.IntN(2) == 0 {
					access()
				}
				add(statement{do: strings.Replace(section, "lock", "unlock", 1), which: s.which})
				room--
			case "nested sections":
				add(statement{do: "lock", which: s.which})
				add(statement{do: "lock", which: 1 - s.which})
				access()
				add(statement{do: "unlock", which: s.which})
				add(statement{do: "unlock", which: 1 - s.which})
				room -= 2
			case "shared section":
				add(statement{do: shared})
				access()
				add(statement{do: "runlock"})
				room--
			default:
				add(s)
			}
		}
		p[i] = steps
	}
	return p
}

// main is the program as a model. Channel 0 has no buffer, channel 1 a place or two.
func (p program) main(main *racefuzz.G) {
	vars := []*racefuzz.Var{main.NewVar("x"), main.NewVar("y")}
	flags := []*racefuzz.Var{main.NewVar("f"), main.NewVar("g")}
	locks := []*racefuzz.Mutex{main.NewMutex("L"), main.NewMutex("M")}
	rw := main.NewRWMutex("R")
	channels := []*racefuzz.Chan{main.NewChan("c", 0), main.NewChan("d", 1+len(p)%2)}
	group := main.NewWaitGroup("w")
	for i, steps := range p {
		main.Go(fmt.Sprint(i), func(g *racefuzz.G) {
			read := 0
			for _, s := range steps {
				if s.if1 && read == 0 {
					continue
				}
				g.At(s.place)
				switch s.do {
				case "read":
					read = vars[s.which].Read(g)
				case "write":
					vars[s.which].Write(g, s.value)
				case "load":
					read = flags[s.which].Load(g)
				case "store":
					flags[s.which].Store(g, s.value)
				case "increase":
					read = flags[s.which].Add(g, 1) - 1
				case "swap":
					read = 0
					if flags[s.which].CompareAndSwap(g, s.value-1, s.value) {
						read = 1
					}
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
				case "try":
					_, _, received := channels[s.which].TryReceive(g)
					if read = 0; received {
						read = 1
					}
				case "any":
					read, _, _ = g.ReceiveAny(channels...)
				case "close":
					channels[s.which].Close(g)
				case "add":
					group.Add(g, s.value)
				case "done":
					group.Done(g)
				case "wait":
					group.Wait(g)
				default:
					panic(s.do)
				}
			}
		})
	}
}

// String lists the steps of each goroutine.
func (p program) String() string {
	var b strings.Builder
	for i, steps := range p {
		fmt.Fprintf(&b, "goroutine %d:", i)
		for _, s := range steps {
			fmt.Fprintf(&b, " %s(%d,%d)", s.do, s.which, s.value)
			if s.if1 {
				b.WriteString("?")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// execution is what an execution shows: its events, and of each which of its
// goroutine's steps it is of, from 1.
type execution struct {
	racefuzz.Strategy
	result *racefuzz.Result
	events []heisen.Record
	step   []int
	steps  map[heisen.Thread]int
}

func (x *execution) Handle(e heisen.Event) {
	r := *heisen.AsRecord(e)
	x.events = append(x.events, r)
	x.step = append(x.step, x.steps[r.Thread])
}

func (x *execution) Flush() error { return nil }

func (x *execution) Next(tasks []racefuzz.Task, running uint32) int {
	i := x.Strategy.Next(tasks, running)
	x.steps[heisen.Thread(tasks[i].ID)]++
	return i
}

func (p program) execute(t *testing.T, s racefuzz.Strategy, seed uint64, options ...racefuzz.RunOption) *execution {
	t.Helper()
	x := &execution{Strategy: s, steps: map[heisen.Thread]int{}}
	result, err := racefuzz.Run(context.Background(), p.main, x, seed, append(options, racefuzz.WithDetector(x))...)
	if err != nil {
		t.Fatal(err)
	}
	x.result = result
	return x
}

// isStep reports whether events with an op are, or are part of, steps of their own.
func isStep(op heisen.Op) bool { return op != heisen.Begin && op != heisen.End && op != heisen.Branch }

// decided returns the execution with a Branch event for each time that a goroutine has
// looked whether to make a statement.
func (x *execution) decided(p program) *execution {
	y := &execution{result: x.result}
	add := func(r heisen.Record, step int) {
		y.events = append(y.events, r)
		y.step = append(y.step, step)
	}
	at := map[int]int{} // by goroutine: its next statement
	for i, r := range x.events {
		var g, k int
		if _, err := fmt.Sscanf(x.result.Symbols.Site(r.Site).String(), "%d.%d", &g, &k); err == nil && isStep(r.Op) {
			for ; at[g] <= k; at[g]++ {
				if p[g][at[g]].if1 {
					add(heisen.Record{Op: heisen.Branch, Thread: r.Thread}, 0)
				}
			}
		}
		add(r, x.step[i])
	}
	return y
}

// places returns where each goroutine has made its steps.
func (x *execution) places() map[heisen.Thread][]string {
	places := map[heisen.Thread][]string{}
	for i, r := range x.events {
		if isStep(r.Op) && x.step[i] > len(places[r.Thread]) {
			places[r.Thread] = append(places[r.Thread], x.result.Symbols.Site(r.Site).String())
		}
	}
	return places
}

// passages returns one between any two successive accesses of a goroutine to a variable.
func (x *execution) passages() (list []window.Execution) {
	type key struct {
		thread heisen.Thread
		object heisen.Object
	}
	last := map[key]int{}
	for i, r := range x.events {
		if !r.Op.IsAccess() {
			continue
		}
		k := key{r.Thread, r.Object}
		if entry, ok := last[k]; ok {
			list = append(list, window.Execution{Section: len(list), Entry: entry, End: i})
		}
		last[k] = i
	}
	return list
}

// script returns who makes the steps of a witness. A step is made when it changes a
// state; else in the middle of its events.
func (x *execution) script(w *Witness) (script []uint32) {
	type step struct {
		thread heisen.Thread
		number int
	}
	events := map[step][]int{} // of the whole execution
	for i, r := range x.events {
		if isStep(r.Op) {
			s := step{r.Thread, x.step[i]}
			events[s] = append(events[s], i)
		}
	}
	made := map[int]bool{}
	for _, list := range events {
		at := list[len(list)/2]
		for _, i := range list {
			if x.events[i].Op == heisen.Change {
				at = i
			}
		}
		made[at] = true
	}
	for _, i := range w.Order[:len(w.Order)-w.Last] {
		if made[i] {
			script = append(script, uint32(x.events[i].Thread))
		}
	}
	return script
}

// scripted is a strategy that lets those make the next step that a script says, and
// then the goroutines that last names, in this order. What it chooses at random is said
// by bits.
type scripted struct {
	script []uint32
	last   []uint32
	bits   uint64
	failed bool
	ready  []uint32 // who could go on when it was last asked
}

func (s *scripted) Start(uint64)   {}
func (s *scripted) String() string { return "scripted" }

func (s *scripted) Random(n uint64) uint64 {
	bit := s.bits & 1
	s.bits >>= 1
	return min(bit, n-1)
}

func (s *scripted) Next(tasks []racefuzz.Task, _ uint32) int {
	s.ready = s.ready[:0]
	for i := range tasks {
		s.ready = append(s.ready, tasks[i].ID)
	}
	list := &s.script
	if len(*list) == 0 {
		list = &s.last
	}
	if len(*list) == 0 {
		return 0
	}
	next := (*list)[0]
	*list = (*list)[1:]
	i := slices.Index(s.ready, next)
	s.failed = s.failed || i < 0
	return max(i, 0)
}

// shows reports whether there is an execution in which the steps of a witness are made
// in its order, and then the last ones; or, if these wait for each other, none of them.
func (p program) shows(t *testing.T, x *execution, w *Witness, waits bool) bool {
	want := x.places()
	script := x.script(w)
	var last []uint32
	for _, i := range w.Order[len(w.Order)-w.Last:] {
		last = append(last, uint32(x.events[i].Thread))
	}
	for bits := range uint64(16) {
		s := &scripted{script: script, last: last, bits: bits}
		steps := len(script) + len(last)
		if waits {
			s.last, steps = nil, len(script)+1 // to see who can go on
		}
		y := p.execute(t, s, 0, racefuzz.WithStepLimit(uint64(steps)))
		good := !s.failed && len(s.script)+len(s.last) == 0
		if waits && y.result.Outcome != racefuzz.Deadlocked {
			good = good && !slices.ContainsFunc(s.ready, func(id uint32) bool { return slices.Contains(last, id) })
		}
		for thread, places := range y.places() {
			good = good && len(places) <= len(want[thread]) && slices.Equal(places, want[thread][:len(places)])
		}
		if good {
			return true
		}
	}
	return false
}

// races returns the pairs of places whose accesses conflict and come right after each
// other.
func (x *execution) races() map[[2]string]bool {
	pairs := map[[2]string]bool{}
	var list []*heisen.Record
	for i := range x.events {
		if r := &x.events[i]; isStep(r.Op) {
			list = append(list, r)
		}
	}
	for i := 1; i < len(list); i++ {
		if a, b := list[i-1], list[i]; a.Object == b.Object && a.Thread != b.Thread && a.Op.Conflicts(b.Op) {
			pairs[x.pair(a, b)] = true
		}
	}
	return pairs
}

func (x *execution) pair(a, b *heisen.Record) [2]string {
	p, q := x.result.Symbols.Site(a.Site).String(), x.result.Symbols.Site(b.Site).String()
	return [2]string{min(p, q), max(p, q)}
}

// races returns those of all executions. ok is false if there are too many of them.
func (p program) races(t *testing.T, most int) (pairs map[[2]string]bool, ok bool) {
	pairs = map[[2]string]bool{}
	e := racefuzz.NewExhaustive()
	for n := 0; e.More(); n++ {
		if n == most {
			return nil, false
		}
		maps.Copy(pairs, p.execute(t, e, 0).races())
	}
	if e.Err() != nil {
		t.Fatal(e.Err())
	}
	return pairs, true
}

// TestPromise predicts from executions of random programs. Each witness has to be what
// the program does, and each race one of all of its executions.
func TestPromise(t *testing.T) {
	for k, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			programs, predicted, hidden, enumerated, decided := 0, 0, 0, 0, 0
			cycles, between := 0, 0
			for seed := range uint64(windowtest.Count(t, 60)) {
				rng := rand.New(rand.NewPCG(seed, uint64(k)))
				small := seed%3 == 0
				p := randomProgram(rng, kind.operations, small)
				programs++
				var real map[[2]string]bool
				all := false
				if small {
					if real, all = p.races(t, 1000); all {
						enumerated++
					}
				}
				for try := range uint64(3) {
					x := p.execute(t, racefuzz.RandomWalk(), 10*seed+try)
					check := func(x *execution, options ...Option) (races int) {
						w := window.Window{Records: x.events, Executions: x.passages()}
						m, err := testModel(w, options...)
						if err != nil {
							t.Fatal(err)
						}
						seen := x.races()
						for i, j := range m.Pairs() {
							verdict, witness, err := race(m, i, j)
							if err != nil {
								t.Fatalf("seed %d: %v", seed, err)
							}
							if verdict != Possible {
								continue
							}
							at := x.pair(&x.events[i], &x.events[j])
							if all && !real[at] {
								t.Fatalf("seed %d, %d: %v is predicted (%v), and no execution has it\n%v%s", seed, try, at, witness.Order, p, show(&w))
							}
							if !p.shows(t, x, witness, false) {
								t.Fatalf("seed %d, %d: %v is predicted, and %v cannot be\n%v%s", seed, try, at, witness.Order, p, show(&w))
							}
							if races++; !seen[at] {
								hidden++
							}
						}
						predicted += races
						others := func(waits bool) func(candidate.Candidate) {
							return func(c candidate.Candidate) {
								switch verdict, witness, err := m.ask(context.Background(), c); {
								case err != nil:
									t.Fatalf("seed %d: %v", seed, err)
								case verdict != Possible:
								case !p.shows(t, x, witness, waits):
									t.Fatalf("seed %d, %d: %v is predicted, and %v cannot be\n%v%s", seed, try, c.Records, witness.Order, p, show(&w))
								case waits:
									cycles++
								default:
									between++
								}
							}
						}
						candidate.Deadlocks(m.causal, func(candidate.Places) bool { return true }, others(true))
						left := 10
						candidate.SectionViolations(m.causal, func(candidate.Places) bool { left--; return left > 0 }, others(false))
						return races
					}
					without := check(x)
					switch with := check(x.decided(p), WithControlFlow()); {
					case with < without:
						t.Fatalf("seed %d, %d: %d races are predicted with control flow, %d without\n%v", seed, try, with, without, p)
					case with > without:
						decided++
					}
				}
			}
			t.Logf("%d programs, of %d all executions; %d races predicted, %d of them not next to each other as observed; %d executions have more with control flow; %d deadlocks; %d times somebody came in between",
				programs, enumerated, predicted, hidden, decided, cycles, between)
			if programs >= 60 && (hidden == 0 || enumerated == 0) || programs >= 100 && decided == 0 {
				t.Error("that says nothing")
			}
		})
	}
}
