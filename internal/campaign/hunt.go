package campaign

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/pick"
	"github.com/heisen-go/heisen/internal/report"
	"github.com/heisen-go/heisen/internal/rt"
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
	Sources  *Sources

	// Done is told of every execution as it ends, and of every suspect as its verdict
	// stands, from one goroutine at a time. Both may be nil.
	Tried func(*Suspect, *Trial)
	Done  func(*Verdict)
}

// Run tries every suspect with every seed. The verdicts come in the order of the
// suspects and do not depend on how many executions there are at a time. If ctx ends, or
// an execution cannot be made, it returns the verdicts so far, of suspects that were
// tried at least once, and the error.
func (h *Hunt) Run(ctx context.Context, suspects []*Suspect) ([]*Verdict, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	type job struct {
		suspect int
		seed    uint64
	}
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for i := range suspects {
			for seed := h.From; ; seed++ {
				select {
				case jobs <- job{i, seed}:
				case <-ctx.Done():
					return
				}
				if seed >= h.To {
					break
				}
			}
		}
	}()

	trials := make([][]*Trial, len(suspects))
	left := make([]uint64, len(suspects))
	for i := range left {
		left[i] = h.To - h.From + 1
	}
	verdicts := make([]*Verdict, len(suspects))
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range max(h.Parallel, 1) {
		workers.Go(func() {
			for j := range jobs {
				t, err := h.try(ctx, suspects[j.suspect], j.seed)
				if err != nil {
					stop(err)
					continue
				}
				mu.Lock()
				trials[j.suspect] = append(trials[j.suspect], t)
				if h.Tried != nil {
					h.Tried(suspects[j.suspect], t)
				}
				if left[j.suspect]--; left[j.suspect] == 0 {
					v := judge(suspects[j.suspect], trials[j.suspect])
					verdicts[j.suspect], trials[j.suspect] = v, nil
					if h.Done != nil {
						h.Done(v)
					}
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	for i := range verdicts {
		if verdicts[i] == nil && len(trials[i]) > 0 {
			verdicts[i] = judge(suspects[i], trials[i])
		}
	}
	return slices.DeleteFunc(verdicts, func(v *Verdict) bool { return v == nil }), context.Cause(ctx)
}

// schedule is that of a directed execution.
func (h *Hunt) schedule(s *Suspect, seed uint64) *rt.Schedule {
	config := pick.Config{Strategy: s.Strategy, Seed: seed, Patience: h.Patience, Wait: uint64(h.Wait)}
	if s.Strategy == pick.PCT {
		config.Depth, config.Length = h.Depth, max(s.Length, 1)
	}
	return &rt.Schedule{Pick: config, Targets: s.Targets, Procs: h.Procs, MaxVirtual: h.Virtual}
}

// try executes a suspect's program once.
func (h *Hunt) try(ctx context.Context, s *Suspect, seed uint64) (*Trial, error) {
	e, err := s.Program.Execute(ctx, Plan{
		Schedule: h.schedule(s, seed), Mode: rt.Nothing, Tests: s.Tests, Limit: h.Limit,
	}, h.Sources)
	if err != nil {
		return nil, err
	}
	t := &Trial{Seed: seed, Execution: e, First: -1}
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
	case e.Meetings[0].Kind != pick.Race:
		return true, -1
	}
	return true, s.side(&e.Meetings[0])
}

// happened is the suspect's finding as it happened in an execution.
func (s *Suspect) happened(e *Execution) report.Finding {
	f := s.Finding
	if len(e.Meetings) > 0 {
		if met := &e.Meetings[0]; met.Kind == pick.Race {
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
	slices.SortFunc(trials, func(a, b *Trial) int { return cmp.Compare(a.Seed, b.Seed) })
	v := &Verdict{Suspect: s, Finding: s.Finding}
	for _, t := range trials {
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
