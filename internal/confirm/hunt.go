package confirm

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// Hunt is how suspects are brought about.
type Hunt struct {
	From, To uint64        // seeds, both inclusive
	Parallel int           // executions at the same time, at least 1
	Limit    time.Duration // of real time for an execution
	Virtual  time.Duration // the same of the program's own time
	Procs    int           // what a program is told that GOMAXPROCS is
	Patience uint64        // steps for which a goroutine is kept back; 0 is pick's default
	Wait     time.Duration // how long by the program's clock, while all others only wait for time to pass
	Depth    uint64        // of PCT
	Resolver *Resolver

	// Done is told of every execution as it ends, and of every suspect as its verdict
	// stands, from one goroutine at a time. Both may be nil.
	Tried func(*Suspect, *Trial)
	Done  func(*Verdict)
}

// Run tries every suspect: those with a witness by following it, in the order that was
// predicted and the other way round, and all others, and those that do no harm by that, with
// every seed. The verdicts come in the order of the suspects and do not depend on how
// many executions there are at a time. If ctx ends, or an execution cannot be made, it
// returns the verdicts so far, of suspects that were tried at least once, and the error.
func (h *Hunt) Run(ctx context.Context, suspects []*Suspect) ([]*Verdict, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	b := &book{hunt: h, suspects: suspects, trials: make([][]*Trial, len(suspects)),
		left: make([]uint64, len(suspects)), verdicts: make([]*Verdict, len(suspects))}
	b.run(ctx, stop, func(i int) uint64 { return suspects[i].follows() }, func(i int, n uint64) *recorder.Schedule {
		return h.following(suspects[i], n == 1)
	})
	b.run(ctx, stop, func(i int) uint64 {
		if b.verdicts[i] != nil {
			return 0
		}
		return h.seeds()
	}, func(i int, n uint64) *recorder.Schedule { return h.schedule(suspects[i], h.From+n) })
	for i := range b.verdicts {
		if b.verdicts[i] == nil && len(b.trials[i]) > 0 {
			b.verdicts[i] = judge(suspects[i], b.trials[i])
			b.verdicts[i].Cut = true
		}
	}
	return slices.DeleteFunc(b.verdicts, func(v *Verdict) bool { return v == nil }), context.Cause(ctx)
}

// seeds is how many there are.
func (h *Hunt) seeds() uint64 { return h.To - h.From + 1 }

// follows is how often the suspect's witness is followed.
func (s *Suspect) follows() uint64 {
	switch {
	case s.witness == nil:
		return 0
	case s.witness.both:
		return 2
	}
	return 1
}

// Executions returns how many executions a suspect takes at most.
func (h *Hunt) Executions(s *Suspect) uint64 { return s.follows() + h.seeds() }

// book is what has come of a campaign so far.
type book struct {
	hunt     *Hunt
	suspects []*Suspect

	mu       sync.Mutex
	trials   [][]*Trial
	left     []uint64 // trials of the round that have not ended
	verdicts []*Verdict
}

// job is the number-th execution of a round for a suspect.
type job struct {
	suspect int
	number  uint64
}

// run makes a round of executions: of each suspect so many, under schedules by number.
func (b *book) run(ctx context.Context, stop context.CancelCauseFunc, many func(suspect int) uint64, schedule func(suspect int, number uint64) *recorder.Schedule) {
	for i := range b.suspects {
		b.left[i] = many(i)
	}
	wanted := slices.Clone(b.left)
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for i, n := range wanted {
			for k := range n {
				select {
				case jobs <- job{i, k}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	var workers sync.WaitGroup
	for range max(b.hunt.Parallel, 1) {
		workers.Go(func() {
			for j := range jobs {
				t, err := b.hunt.try(ctx, b.suspects[j.suspect], schedule(j.suspect, j.number))
				if err != nil {
					stop(err)
					continue
				}
				t.number = j.number
				b.enter(j.suspect, t)
			}
		})
	}
	workers.Wait()
}

// enter takes down a trial. The verdict stands when the round is through, but for one in
// which a witness was followed and did not lead to a failure.
func (b *book) enter(i int, t *Trial) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, h := b.suspects[i], b.hunt
	b.trials[i] = append(b.trials[i], t)
	if h.Tried != nil {
		h.Tried(s, t)
	}
	if b.left[i]--; b.left[i] > 0 {
		return
	}
	v := judge(s, b.trials[i])
	if uint64(len(b.trials[i])) == s.follows() && !v.failed() {
		return
	}
	b.verdicts[i], b.trials[i] = v, nil
	if h.Done != nil {
		h.Done(v)
	}
}

// following is the schedule of an execution that follows a suspect's witness.
func (h *Hunt) following(s *Suspect, reverse bool) *recorder.Schedule {
	return &recorder.Schedule{
		Pick:    strategies.Config{Strategy: strategies.Follow, Seed: s.witness.seed, Turns: coreTurns(s.witness.turns(reverse))},
		Targets: s.Targets, Procs: h.Procs, MaxVirtual: h.Virtual,
	}
}

// tests are those that a suspect is tried in: those in which it was seen, or where a
// witness is followed, which begins with the first, all.
func (s *Suspect) tests(schedule *recorder.Schedule) string {
	if schedule.Pick.Strategy == strategies.Follow {
		return ""
	}
	return s.Tests
}

// schedule is that of a directed execution.
func (h *Hunt) schedule(s *Suspect, seed uint64) *recorder.Schedule {
	config := strategies.Config{Strategy: s.Strategy, Seed: seed, PostponeLimit: h.Patience, WaitLimit: uint64(h.Wait)}
	if s.Strategy == strategies.PCT {
		config.Depth, config.Steps = h.Depth, max(s.Length, 1)
	}
	return &recorder.Schedule{Pick: config, Targets: s.Targets, Procs: h.Procs, MaxVirtual: h.Virtual}
}

// try executes a suspect's program once.
func (h *Hunt) try(ctx context.Context, s *Suspect, schedule *recorder.Schedule) (*Trial, error) {
	e, err := s.Program.Execute(ctx, Plan{
		Schedule: schedule, Mode: recorder.Nothing, Tests: s.tests(schedule), Limit: h.Limit,
	}, h.Resolver)
	if err != nil {
		return nil, err
	}
	t := &Trial{Seed: schedule.Pick.Seed, Schedule: schedule, Execution: e, First: -1}
	t.Confirmed, t.First = s.confirmed(e)
	return t, nil
}

// confirmed reports whether the suspect happened in an execution, and, of a race, which
// of the finding's accesses was made first.
func (s *Suspect) confirmed(e *Execution) (yes bool, first int) {
	switch s.Finding.Kind {
	case heisen.Deadlock:
		return e.Outcome.Class == Deadlocked && s.blocks(e), -1
	case heisen.Failure:
		return e.Outcome.Class != Passed, -1
	}
	switch {
	case len(e.Meetings) == 0:
		return false, -1
	case e.Meetings[0].Kind != strategies.Race:
		return true, -1
	}
	return true, s.side(&e.Meetings[0])
}

// happened is the suspect's finding as it happened in an execution.
func (s *Suspect) happened(e *Execution) report.Finding {
	f := s.Finding
	if len(e.Meetings) > 0 {
		if met := &e.Meetings[0]; met.Kind == strategies.Race {
			f = met.Finding
			if s.side(met) == 1 { // in the order of the suspect's
				f.Accesses = []report.Access{f.Accesses[1], f.Accesses[0]}
			}
		}
	}
	f.Detector, f.Package = detectorName, s.Finding.Package
	return f
}

// judge makes a verdict of what was tried.
func judge(s *Suspect, trials []*Trial) *Verdict {
	slices.SortStableFunc(trials, func(a, b *Trial) int {
		return cmp.Or(order(b.follows())-order(a.follows()), cmp.Compare(a.number, b.number))
	})
	v := &Verdict{Suspect: s, Finding: s.Finding}
	for _, t := range trials {
		if t.follows() && v.Follow != Followed {
			switch {
			case t.Confirmed:
				v.Follow = Followed
			case t.Execution.Diverged > 0:
				v.Follow = Diverged
			case v.Follow == NotFollowed:
				v.Follow = Missed
			}
		}
		if v.Confirmed == 0 && t.Confirmed {
			v.Finding = s.happened(t.Execution)
		}
		v.add(t)
	}
	slices.SortStableFunc(v.Endings, func(a, b Ending) int {
		return cmp.Or(order(b.Confirmed)-order(a.Confirmed), b.Outcome.Class.harm()-a.Outcome.Class.harm(), b.Count-a.Count)
	})
	return v
}

func order(b bool) int {
	if b {
		return 1
	}
	return 0
}
