package suspects

import (
	"context"
	"slices"
	"time"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// Shown is an execution in which a suspect has happened.
type Shown struct {
	Suspect  *Suspect
	Schedule *recorder.Schedule
}

// Again looks for suspects in executions in which races have happened that Run or Again suspected, and returns the
// new ones. In such an execution a goroutine stood between two of its accesses while another one went on. No run of
// Run shows what comes of that, because goroutines are switched there only where they synchronize. The executions are
// repeated. A Confirmer follows them up to their races to try the new suspects from there. skipped has messages as
// those of Run, with packages.
func (s *Survey) Again(ctx context.Context, executions []Shown) (suspects []*Suspect, skipped []string, err error) {
	if !s.Races {
		return nil, nil, nil
	}
	known, told := map[*gathering]int{}, map[*gathering]int{}
	var all []*gathering
	for _, x := range executions {
		g := s.found[x.Suspect.Program]
		if g == nil {
			continue
		}
		if !slices.Contains(all, g) {
			all = append(all, g)
			known[g], told[g] = len(g.suspects), len(g.skipped)
		}
		if err == nil {
			err = g.repeat(ctx, x)
		}
	}
	for _, g := range all {
		for _, further := range g.suspects[known[g]:] {
			if further.Strategy == strategies.RaceDirected && further.witness == nil {
				further.leads = g.leadsTo()
			}
			suspects = append(suspects, further)
		}
		for _, text := range g.skipped[told[g]:] {
			skipped = append(skipped, g.program.Package+": "+text)
		}
	}
	return suspects, skipped, err
}

// repeat repeats an execution and takes what the detectors find, and the leads in it.
func (g *gathering) repeat(ctx context.Context, x Shown) error {
	s, schedule := g.survey, *x.Schedule
	schedule.Number = true
	found := &leads{of: x.Suspect, seed: schedule.Strategy.Seed, tests: x.Suspect.TestsOf(&schedule)}
	at := scope{found.tests, x.Suspect.in(), found}
	_, err := g.execute(ctx, at, &schedule, recorder.Everything, s.Budget.Bounds(x.Suspect, s.Limit), s.detectors)
	if err == nil {
		g.addLeads(found.complete())
	}
	return err
}

// Look repeats an execution of a unit that was searched, and looks for suspects in it, which are not predicted. A limit is the real
// time after which it is stopped.
func (s *Survey) Look(ctx context.Context, u *controlled.Unit, schedule *recorder.Schedule, b *Budget, limit time.Duration) (*Surveyed, error) {
	survey := *s
	survey.Budget, survey.Predict = b, false
	g := newGathering(&survey, u.Program)
	limit = b.Bounds(&Suspect{Program: u.Program, units: []*controlled.Unit{u}}, limit)
	_, err := g.execute(ctx, g.scope(u), schedule, survey.mode(), limit, survey.detectors)
	return &Surveyed{Program: u.Program, Suspects: g.suspects, Skipped: g.skipped}, err
}
