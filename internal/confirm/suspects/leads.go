package suspects

import (
	"context"
	"slices"
	"time"

	"github.com/heisen-go/heisen/internal/confirm/controlled"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
)

// lead is the order of an execution up to a race that has happened in it. Where the two accesses have met, one
// goroutine stands between its accesses, and suspects may be near that need that. So executions follow the order up to there,
// let one of the accesses be made, or none, and then go on as the race-directed strategy.
type lead struct {
	of     *Suspect // the race
	seed   uint64
	tests  string
	order  []racefuzz.Position // before both accesses
	next   [2]racefuzz.Position
	starts []racefuzz.Creation // of the execution
}

// leadEnds is the number of ways in which a lead ends: with none of its accesses made, with the one, and with the other.
const leadEnds = 3

const (
	// maxLeads bounds the leads of an execution, maxLeadsTo those to a suspect, and maxLeadsOf those of them that come
	// from the same race, the first ones.
	maxLeads   = 4
	maxLeadsTo = 100
	maxLeadsOf = 3
)

// turns returns the turns that lead there, and to the end of a number below leadEnds.
func (l *lead) turns(end uint64) []racefuzz.Turn {
	order := slices.Clone(l.order)
	for _, p := range l.next { // they come to their accesses
		order = append(order, racefuzz.Position{ID: p.ID, Seq: p.Seq - 1})
	}
	if end > 0 {
		order = append(order, l.next[end-1])
	}
	return racefuzz.Turns(order, nil, l.starts)
}

// leads is a detector that notes the leads of an execution. It finds nothing. The events have numbers.
type leads struct {
	of    *Suspect
	seed  uint64
	tests string
	order orderRecorder
	all   []*lead
	open  []opening
}

// maxLeadEvents bounds the events before a lead.
const maxLeadEvents = 1 << 17

// opening is an access of a lead whose position is not known yet.
type opening struct {
	lead   *lead
	side   int
	thread heisen.Thread
}

func (l *leads) handle(r *heisen.Record) {
	l.order.handle(r)
	if r.Flags&recorder.Numbered == 0 {
		return
	}
	l.open = slices.DeleteFunc(l.open, func(o opening) bool {
		if o.thread == r.Thread {
			o.lead.next[o.side] = positionOf(r)
		}
		return o.thread == r.Thread
	})
}

// meeting takes a meeting between two events. The next events of its goroutines are its accesses.
func (l *leads) meeting(m recorder.Meeting) {
	if m.Kind != strategies.Race || len(m.Accesses) != 2 || len(l.all) == maxLeads || len(l.order.steps) > maxLeadEvents {
		return
	}
	one := &lead{of: l.of, seed: l.seed, tests: l.tests, order: l.order.first(len(l.order.steps))}
	for i, a := range m.Accesses {
		l.open = append(l.open, opening{one, i, a.Thread})
	}
	l.all = append(l.all, one)
}

// addLeads adds leads, of which a few come from each race.
func (g *gathering) addLeads(more []*lead) {
	for _, l := range more {
		same := 0
		for _, other := range g.leads {
			if other.of == l.of {
				same++
			}
		}
		if same < maxLeadsOf && len(g.leads) < maxLeadsTo {
			g.leads = append(g.leads, l)
		}
	}
}

// leadsTo returns the leads to new suspects: those that run the same tests as the first one.
func (g *gathering) leadsTo() (all []*lead) {
	for _, l := range g.leads {
		if l.tests == g.leads[0].tests {
			all = append(all, l)
		}
	}
	return all
}

// complete returns the leads with the positions of both accesses.
func (l *leads) complete() (all []*lead) {
	for _, one := range l.all {
		if one.next[0].Seq > 0 && one.next[1].Seq > 0 {
			w := witness{order: one.order, next: one.next[:]}
			w.stopBefore()
			one.starts = l.order.starts
			all = append(all, one)
		}
	}
	return all
}

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
	at := scope{found.tests, x.Suspect.Units(), found}
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
