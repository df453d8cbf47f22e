package mcm

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/racefuzz"
)

// execution records one execution of a program: the events, and for each event the number of the step
// of its goroutine that it belongs to, from 1.
type execution struct {
	racefuzz.Strategy
	result *racefuzz.Result
	events []heisen.Record
	step   []int                 // by event
	steps  map[heisen.Thread]int // how many steps each goroutine has made
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

// isStep reports whether events of an op belong to steps of a goroutine's statements.
func isStep(op heisen.Op) bool { return op != heisen.Begin && op != heisen.End && op != heisen.Branch }

// withBranches returns the execution with a Branch event for each conditional statement that a
// goroutine has reached.
func (x *execution) withBranches(p program) *execution {
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

// withDecisions returns the execution with the flag Decides on the reads at which conditional statements look, and on atomic
// operations.
func (x *execution) withDecisions(p program) *execution {
	y := &execution{result: x.result, events: slices.Clone(x.events), step: x.step}
	for i := range y.events {
		r := &y.events[i]
		var g, k int
		if _, err := fmt.Sscanf(x.result.Symbols.Site(r.Site).String(), "%d.%d", &g, &k); err == nil && r.Op.IsAccess() {
			if r.Op.IsAtomic() || r.Op == heisen.Read && p.decides(g, k) {
				r.Flags |= heisen.Decides
			}
		}
	}
	return y
}

// places returns the places of the steps of each goroutine.
func (x *execution) places() map[heisen.Thread][]string {
	places := map[heisen.Thread][]string{}
	for i, r := range x.events {
		if isStep(r.Op) && x.step[i] > len(places[r.Thread]) {
			places[r.Thread] = append(places[r.Thread], x.result.Symbols.Site(r.Site).String())
		}
	}
	return places
}

// sectionExecutions returns an execution of a section for each two successive accesses of a goroutine to
// a variable.
func (x *execution) sectionExecutions() (list []window.Execution) {
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

// script returns the goroutines that make the steps of a witness, in order. A step takes effect at its
// Change event if it has one, and in the middle of its events otherwise.
func (x *execution) script(w *Witness) (script []uint32) {
	type step struct {
		thread heisen.Thread
		number int
	}
	events := map[step][]int{} // of the whole execution, not only of the witness
	for i, r := range x.events {
		if isStep(r.Op) {
			s := step{r.Thread, x.step[i]}
			events[s] = append(events[s], i)
		}
	}
	effect := map[int]bool{} // by event: its step takes effect
	for _, list := range events {
		at := list[len(list)/2]
		for _, i := range list {
			if x.events[i].Op == heisen.Change {
				at = i
			}
		}
		effect[at] = true
	}
	for _, i := range w.Order[:len(w.Order)-w.Last] {
		if effect[i] {
			script = append(script, uint32(x.events[i].Thread))
		}
	}
	return script
}

// scripted is a strategy that runs goroutines in the order of a script, and then those of last. It takes
// random choices from bits.
type scripted struct {
	script []uint32
	last   []uint32
	bits   uint64
	failed bool
	ready  []uint32 // the goroutines that could continue at the last choice
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

// shows reports whether the program has an execution with the steps of a witness in its order, and then
// the pending ones; in a deadlock, the pending ones must all be blocked.
func (p program) shows(t *testing.T, x *execution, w *Witness, deadlock bool) bool {
	want := x.places()
	script := x.script(w)
	var last []uint32
	for _, i := range w.Order[len(w.Order)-w.Last:] {
		last = append(last, uint32(x.events[i].Thread))
	}
	for bits := range uint64(16) {
		s := &scripted{script: script, last: last, bits: bits}
		steps := len(script) + len(last)
		if deadlock {
			s.last, steps = nil, len(script)+1 // one more choice, to see which goroutines can continue
		}
		y := p.execute(t, s, 0, racefuzz.WithStepLimit(uint64(steps)))
		good := !s.failed && len(s.script)+len(s.last) == 0
		if deadlock && y.result.Outcome != racefuzz.Deadlocked {
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

// races returns the pairs of places with conflicting accesses that come one right after the other.
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

// pair returns the places of two accesses, sorted.
func (x *execution) pair(a, b *heisen.Record) [2]string {
	p, q := x.result.Symbols.Site(a.Site).String(), x.result.Symbols.Site(b.Site).String()
	return [2]string{min(p, q), max(p, q)}
}

// races returns the races of all executions. ok is false if there are more than most executions.
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

// promiseCounts counts what TestPromise has compared.
type promiseCounts struct {
	races     int // predicted races
	distant   int // those whose accesses were not observed next to each other
	deadlocks int // predicted deadlocks
	sections  int // predicted violations of sections
}

// promise checks the predictions from one execution of a program.
type promise struct {
	*testing.T
	program
	name   string             // of the execution
	real   map[[2]string]bool // the races of all executions; nil if not known
	counts *promiseCounts
}

// check predicts from an execution and checks the witnesses. It returns the number of races.
func (p *promise) check(x *execution, options ...DetectorOption) (races int) {
	p.Helper()
	w := window.Window{Records: x.events, Executions: x.sectionExecutions()}
	m, err := testModel(w, options...)
	if err != nil {
		p.Fatal(err)
	}
	observed := x.races()
	for i, j := range m.Pairs() {
		verdict, witness, err := race(m, i, j)
		if err != nil {
			p.Fatalf("%s: %v", p.name, err)
		}
		if verdict != Possible {
			continue
		}
		at := x.pair(&x.events[i], &x.events[j])
		if p.real != nil && !p.real[at] {
			p.Fatalf("%s: %v is predicted (%v), and no execution has it\n%v%s", p.name, at, witness.Order, p.program, show(&w))
		}
		if !p.shows(p.T, x, witness, false) {
			p.Fatalf("%s: %v is predicted, and the program cannot execute %v\n%v%s", p.name, at, witness.Order, p.program, show(&w))
		}
		if races++; !observed[at] {
			p.counts.distant++
		}
	}
	p.counts.races += races
	others := func(deadlock bool, count *int) func(candidate.Candidate) {
		return func(c candidate.Candidate) {
			verdict, witness, err := m.ask(context.Background(), c)
			switch {
			case err != nil:
				p.Fatalf("%s: %v", p.name, err)
			case verdict != Possible:
			case !p.shows(p.T, x, witness, deadlock):
				p.Fatalf("%s: %v is predicted, and the program cannot execute %v\n%v%s", p.name, c.Records, witness.Order, p.program, show(&w))
			default:
				*count++
			}
		}
	}
	candidate.Deadlocks(m.causal, func(candidate.Places) bool { return true }, others(true, &p.counts.deadlocks))
	left := 10
	candidate.SectionViolations(m.causal, func(candidate.Places) bool { left--; return left > 0 }, others(false, &p.counts.sections))
	return races
}

// TestPromise predicts bugs from executions of random programs. The program must be able to execute
// each witness, and each predicted race must be a race of some execution.
func TestPromise(t *testing.T) {
	for k, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			var counts promiseCounts
			programs, enumerated, more, further := 0, 0, 0, 0
			for seed := range uint64(windowtest.Count(t, 60)) {
				rng := rand.New(rand.NewPCG(seed, uint64(k)))
				small := seed%3 == 0
				p := &promise{T: t, program: randomProgram(rng, kind.operations, small), counts: &counts}
				programs++
				if small {
					var all bool
					if p.real, all = p.races(t, 1000); all {
						enumerated++
					}
				}
				for try := range uint64(3) {
					p.name = fmt.Sprintf("seed %d, %d", seed, try)
					x := p.execute(t, racefuzz.RandomWalk(), 10*seed+try)
					without := p.check(x)
					with := p.check(x.withBranches(p.program), WithControlFlow())
					decided := p.check(x.withDecisions(p.program), WithControlFlow())
					if with < without || decided < without { // a branch may come after a race, where a read that decides comes before it
						t.Fatalf("%s: %d races are predicted, %d with branches, %d if it is known which reads decide\n%v", p.name, without, with, decided, p.program)
					}
					if with > without {
						more++
					}
					if decided > with {
						further++
					}
				}
			}
			t.Logf("%d programs, %d of them with all executions; %+v; %d executions have more races with branches, and %d more than that if it is known which reads decide",
				programs, enumerated, counts, more, further)
			if programs >= 60 && (counts.distant == 0 || enumerated == 0) || programs >= 100 && more == 0 {
				t.Error("too few predictions")
			}
		})
	}
}
