package confirm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

// Confirmer tries to reproduce suspects. All fields but Passes, Budget, OnTrial and OnResult are
// required.
type Confirmer struct {
	From, To uint64        // the range of seeds, inclusive
	Parallel int           // executions at the same time, at least 1
	Limit    time.Duration // real time after which an execution is stopped
	Virtual  time.Duration // the same in the program's virtual time
	Procs    int           // the value of GOMAXPROCS in the program
	Patience uint64        // steps for which a goroutine is postponed at most; 0 for the strategies' default
	Wait     time.Duration // the same in virtual time, while all others only wait for time to pass
	Depth    uint64        // the bug depth that PCT assumes
	Passes   uint64        // places that a goroutine may pass before it is postponed; 0 is Algorithm 1 of the RaceFuzzer paper
	Resolver *Resolver
	Budget   *Budget // of the suspects and units; nil if there is no bound

	// OnTrial is called after each execution, and OnResult when the trials of a suspect are
	// complete, by one goroutine at a time. Both may be nil.
	OnTrial  func(*Suspect, *Trial)
	OnResult func(*Result)
}

// Run tries the suspects in rounds. The first follows the witnesses of predicted suspects, each in the
// predicted order and with the last two operations exchanged. The second tries all suspects with the
// first seed. The third follows the witnesses of the other suspects that have not happened by then. The
// last tries the next seeds. A suspect is not tried any more once an execution of the first or the third
// round has shown it to be harmful. The suspects are best in the order of Promising, because the Budget may
// be spent before all seeds were tried. The results are in the order of the suspects and, unless that
// happens, do not depend on the number of executions at a time. Results of suspects that were not tried with
// all seeds are Incomplete. If ctx ends or an execution fails for a reason outside of the program, Run returns
// the results of the suspects that were tried at least once, and the error.
func (c *Confirmer) Run(ctx context.Context, suspects []*Suspect) ([]*Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p := &progress{confirmer: c, suspects: suspects, trials: make([][]*Trial, len(suspects)),
		left: make([]uint64, len(suspects)), omitted: make([]uint64, len(suspects)), results: make([]*Result, len(suspects))}
	follow := func(wanted func(i int) bool) round {
		return round{
			many: func(i int) uint64 {
				if !wanted(i) {
					return 0
				}
				return suspects[i].follows()
			},
			schedule: func(i int, n uint64) *recorder.Schedule { return c.followSchedule(suspects[i], n) },
		}
	}
	seeds := func(from, n uint64) round {
		return round{
			many:     func(int) uint64 { return n },
			schedule: func(i int, k uint64) *recorder.Schedule { return c.directedSchedule(suspects[i], c.From+from+k) },
			first:    from,
		}
	}
	p.run(ctx, stop, follow(func(i int) bool { return suspects[i].Predicted }))
	p.run(ctx, stop, seeds(0, 1))
	p.run(ctx, stop, follow(func(i int) bool { return !suspects[i].Predicted && !p.happened(i) }))
	p.run(ctx, stop, seeds(1, c.seeds()-1))
	for i := range p.results {
		if p.results[i] == nil && (len(p.trials[i]) > 0 || p.omitted[i] > 0) {
			p.finish(i, true)
		}
	}
	return slices.DeleteFunc(p.results, func(v *Result) bool { return v == nil }), context.Cause(ctx)
}

// seeds returns the number of seeds.
func (c *Confirmer) seeds() uint64 { return c.To - c.From + 1 }

// follows returns how often the suspect's witness and its leads are followed.
func (s *Suspect) follows() uint64 { return s.witness.orders() + uint64(len(s.leads))*leadEnds }

// Executions returns the largest number of executions that a suspect takes.
func (c *Confirmer) Executions(s *Suspect) uint64 { return s.follows() + c.seeds() }

// progress has the trials of a Run so far.
type progress struct {
	confirmer *Confirmer
	suspects  []*Suspect

	mu      sync.Mutex
	trials  [][]*Trial
	left    []uint64 // trials of the round that have not ended, by suspect
	omitted []uint64 // trials for which there was no time
	results []*Result
}

// round is a round of executions. many returns how many a suspect gets, if it has no result yet, and
// schedule returns the schedule of each. They are numbered from first.
type round struct {
	many     func(suspect int) uint64
	schedule func(suspect int, number uint64) *recorder.Schedule
	first    uint64
}

// job is one execution of a round. number counts those of the suspect in the round, from 0.
type job struct {
	suspect int
	number  uint64
}

// run makes a round of executions.
func (p *progress) run(ctx context.Context, stop context.CancelCauseFunc, r round) {
	for i := range p.suspects {
		if p.left[i] = 0; p.results[i] == nil {
			p.left[i] = r.many(i)
		}
	}
	wanted := slices.Clone(p.left)
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for _, pass := range passes(slices.Max(append(wanted, 0))) {
			for i, n := range wanted {
				for k := pass.from; k < min(pass.to, n); k++ {
					if !p.confirmer.Budget.mayTry(p.suspects[i]) {
						p.omit(i)
						continue
					}
					select {
					case jobs <- job{i, k}:
					case <-ctx.Done():
						return
					}
				}
			}
		}
	}()
	var workers sync.WaitGroup
	for range max(p.confirmer.Parallel, 1) {
		workers.Go(func() {
			for j := range jobs {
				t, err := p.confirmer.execute(ctx, p.suspects[j.suspect], r.schedule(j.suspect, j.number))
				if errors.Is(err, errNoTime) {
					p.omit(j.suspect)
					continue
				}
				if err != nil {
					stop(err)
					continue
				}
				t.number = r.first + j.number
				p.add(j.suspect, t)
			}
		})
	}
	workers.Wait()
}

// pass is a range of the executions of each suspect.
type pass struct{ from, to uint64 }

// passes returns the order in which up to n executions of each suspect are made: some of all suspects, then
// the rest.
func passes(n uint64) []pass { return []pass{{0, 3}, {3, max(n, 3)}} }

// happened reports whether a trial has confirmed suspect i.
func (p *progress) happened(i int) bool {
	return slices.ContainsFunc(p.trials[i], func(t *Trial) bool { return t.Confirmed })
}

// directed returns the number of trials of suspect i that followed no witness.
func (p *progress) directed(i int) (n uint64) {
	for _, t := range p.trials[i] {
		if !t.follows() {
			n++
		}
	}
	return n
}

// omit notes that there is no time for a trial of suspect i.
func (p *progress) omit(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[i]--
	p.omitted[i]++
}

// add takes a trial of suspect i. The last trial of a suspect completes its result, and so does one that
// followed a witness and has shown that the suspect is harmful, once the other order was tried.
func (p *progress) add(i int, t *Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, c := p.suspects[i], p.confirmer
	p.trials[i] = append(p.trials[i], t)
	if c.OnTrial != nil {
		c.OnTrial(s, t)
	}
	if p.left[i]--; p.left[i] > 0 || p.omitted[i] > 0 {
		return
	}
	if t.follows() && summarize(s, p.trials[i]).failed() || p.directed(i) == c.seeds() {
		p.finish(i, false)
	}
}

// finish makes the result of suspect i.
func (p *progress) finish(i int, incomplete bool) {
	v := summarize(p.suspects[i], p.trials[i])
	if v.Incomplete = incomplete; !incomplete && p.confirmer.OnResult != nil {
		p.confirmer.OnResult(v)
	}
	p.results[i], p.trials[i] = v, nil
}

// followSchedule returns the schedule of execution n, from 0, of those that follow a suspect's witness and its leads.
func (c *Confirmer) followSchedule(s *Suspect, n uint64) *recorder.Schedule {
	var seed uint64
	var turns []racefuzz.Turn
	if orders := s.witness.orders(); n < orders {
		seed, turns = s.witness.seed, s.witness.turns(n == 1)
	} else {
		l := s.leads[(n-orders)/leadEnds]
		seed, turns = l.seed, l.turns((n-orders)%leadEnds)
	}
	return &recorder.Schedule{
		Strategy: strategies.Config{Strategy: strategies.Follow, Seed: seed, Turns: coreTurns(turns)},
		Targets:  s.Targets, Procs: c.Procs, MaxVirtual: c.Virtual,
	}
}

// plan returns the plan of an execution of a suspect's program with a schedule, in which findings are recorded and nothing else.
func (c *Confirmer) plan(s *Suspect, schedule *recorder.Schedule) Plan {
	return Plan{Schedule: schedule, Mode: recorder.FindingsOnly, Tests: s.tests(schedule), Limit: c.Limit}
}

// tests returns the tests of an execution: those in which the suspect was seen, or those of the witness
// if it is followed, because it begins with the first of them.
func (s *Suspect) tests(schedule *recorder.Schedule) string {
	if schedule.Strategy.Strategy == strategies.Follow {
		if s.witness == nil {
			return s.leads[0].tests
		}
		return s.witness.tests
	}
	return s.Tests
}

// directedSchedule returns the schedule of an execution with the strategy of the suspect.
func (c *Confirmer) directedSchedule(s *Suspect, seed uint64) *recorder.Schedule {
	config := strategies.Config{Strategy: s.Strategy, Seed: seed, PostponeLimit: c.Patience, WaitLimit: uint64(c.Wait)}
	switch s.Strategy {
	case strategies.PCT:
		config.Depth, config.Steps = c.Depth, max(s.Length, 1)
	case strategies.RaceDirected:
		config.Depth = c.Passes
	}
	return &recorder.Schedule{Strategy: config, Targets: s.Targets, Procs: c.Procs, MaxVirtual: c.Virtual}
}

// execute executes a suspect's program once.
// The error is errNoTime if the execution was stopped because the time of the budget was over.
func (c *Confirmer) execute(ctx context.Context, s *Suspect, schedule *recorder.Schedule) (*Trial, error) {
	limit := c.Budget.bounds(s, c.Limit)
	plan := c.plan(s, schedule)
	plan.Limit = limit
	e, err := s.Program.Execute(ctx, plan, c.Resolver)
	if err != nil {
		return nil, err
	}
	c.Budget.spend(s, e.Took)
	if e.Outcome.Class == Hung && e.Stuck == nil && limit < c.Limit {
		return nil, errNoTime
	}
	t := &Trial{Seed: schedule.Strategy.Seed, Schedule: schedule, Execution: e, First: -1}
	t.Confirmed, t.First = s.confirmed(e)
	return t, nil
}

// confirmed reports whether the suspect happened in an execution and, for a race, the index of the
// access of the finding that came first.
func (s *Suspect) confirmed(e *Execution) (yes bool, first int) {
	if s.observed {
		return s.observedIn(e) != nil, -1
	}
	switch s.Finding.Kind {
	case heisen.Deadlock:
		return (e.Outcome.Class == Deadlocked || len(e.Leaked) > 0) && s.blockedIn(e), -1
	case heisen.Failure:
		return e.Outcome.Class.Failed(), -1
	}
	met := s.meetingIn(e)
	if met == nil || s.searched { // others may have met
		if f := s.raceIn(e); f != nil {
			return true, s.side(f)
		}
		return false, -1
	}
	if met.Kind != strategies.Race {
		return true, -1
	}
	return true, s.side(&met.Finding)
}

// firstIn returns the index of the access of a finding that came first in an execution with it: what was given may only have lines.
func (s *Suspect) firstIn(e *Execution, f *report.Finding) int {
	race := s.raceIn(e)
	if met := s.meetingIn(e); met != nil {
		race = &met.Finding
	}
	if race == nil || f.Kind != heisen.Race {
		return -1
	}
	return sideOf(f, race, samePlace)
}

// meetingIn returns the meeting of the suspect's accesses in an execution, nil if there is none. It is the first one if it is not known
// which it is, but no meeting of two goroutines at one of several places, which is another bug.
func (s *Suspect) meetingIn(e *Execution) (first *Meeting) {
	for i := range e.Meetings {
		m := &e.Meetings[i]
		if m.Kind == strategies.Race && pairs(&s.Finding, &m.Finding, s.at) {
			return m
		}
		if first == nil && !s.atOnePlace(m) {
			first = m
		}
	}
	return first
}

// atOnePlace reports whether goroutines have met that made the same access, of a suspect whose accesses are different.
func (s *Suspect) atOnePlace(m *Meeting) bool {
	alike := func(a []report.Access) bool { return len(a) == 2 && sameOp(&a[0], &a[1]) && samePlace(&a[0], &a[1]) }
	return m.Kind == strategies.Race && alike(m.Finding.Accesses) && len(s.Finding.Accesses) == 2 && !alike(s.Finding.Accesses)
}

// asHappened returns the suspect's finding as it happened in an execution.
func (s *Suspect) asHappened(e *Execution) report.Finding {
	f := s.Finding
	if s.observed {
		if seen := s.observedIn(e); seen != nil {
			f = *seen
		}
		f.Package = s.Finding.Package
		return f
	}
	if met := s.meetingIn(e); met != nil && !s.searched && f.Kind != heisen.Failure {
		if met.Kind == strategies.Race {
			f = met.Finding
			if s.side(&met.Finding) == 1 { // keep the order of the suspect's accesses
				f.Accesses = []report.Access{f.Accesses[1], f.Accesses[0]}
			}
		}
	} else if seen := s.raceIn(e); seen != nil {
		f = inOrderOf(seen, &s.Finding)
	}
	switch f.Kind {
	case heisen.Failure:
		e.showFailing(&f)
	case heisen.Deadlock:
		f.Message = strings.Replace(f.Message, " can wait ", " wait ", 1)
	}
	f.Detector, f.Package = detectorName, s.Finding.Package
	return f
}

// summarize makes a result of the trials of a suspect.
func summarize(s *Suspect, trials []*Trial) *Result {
	slices.SortStableFunc(trials, func(a, b *Trial) int {
		return cmp.Or(boolOrder(b.follows())-boolOrder(a.follows()), cmp.Compare(a.number, b.number))
	})
	v := &Result{Suspect: s, Finding: s.Finding}
	for _, t := range trials {
		if t.follows() && v.Follow != Followed {
			switch {
			case t.Confirmed && !t.missed():
				v.Follow = Followed
			case t.Execution.Diverged > 0:
				v.Follow = Diverged
			case v.Follow == NotFollowed:
				v.Follow = Missed
			}
		}
		if v.Confirmed == 0 && t.Confirmed {
			v.Finding = s.asHappened(t.Execution)
		}
		if s.Given && t.Confirmed {
			t.First = s.firstIn(t.Execution, &v.Finding)
		}
		v.add(t)
	}
	v.sort()
	return v
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}
