package trials

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/recorder"
)

// Run tries the suspects in rounds. The first follows the witnesses of predicted suspects, each in the
// predicted order and with the last two operations exchanged. The second tries all suspects with the
// first seed. The third follows the witnesses of the other suspects that have not happened by then. The
// last tries the next seeds. A suspect is not tried any more once an execution of the first or the third
// round has shown it to be harmful. The suspects are best in the order of Promising, because the Budget may
// be spent before all seeds were tried. The results are in the order of the suspects and, unless that
// happens, do not depend on the number of executions at a time. Results of suspects that were not tried with
// all seeds are Incomplete. If ctx ends or an execution fails for a reason outside of the program, Run returns
// the results of the suspects that were tried at least once, and the error.
func (c *Confirmer) Run(ctx context.Context, suspects []*suspects.Suspect) ([]*Result, error) {
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
				return suspects[i].Follows()
			},
			schedule: func(i int, n uint64) *recorder.Schedule { return c.followSchedule(suspects[i], n) },
		}
	}
	seeds := func(from, n uint64) round {
		return round{
			many: func(int) uint64 { return n },
			schedule: func(i int, k uint64) *recorder.Schedule {
				return c.DirectedSchedule(suspects[i], c.First(suspects[i].Program)+from+k)
			},
			first: from,
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

// progress has the trials of a Run so far.
type progress struct {
	confirmer *Confirmer
	suspects  []*suspects.Suspect

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
					if !p.confirmer.Budget.MayTry(p.suspects[i]) {
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
				t, err := p.confirmer.Try(ctx, p.suspects[j.suspect], r.schedule(j.suspect, j.number))
				if errors.Is(err, suspects.ErrNoTime) {
					p.omit(j.suspect)
					continue
				}
				if err != nil {
					stop(err)
					continue
				}
				t.Number = r.first + j.number
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
