package suspects

import (
	"slices"

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

// opening is an access of a lead whose position is not known yet.
type opening struct {
	lead   *lead
	side   int
	thread heisen.Thread
}

// Handle implements heisen.Detector.
func (l *leads) Handle(e heisen.Event) {
	r := heisen.AsRecord(e)
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

// Flush implements heisen.Detector.
func (l *leads) Flush() error { return nil }

// meeting takes a meeting between two events. The next events of its goroutines are its accesses.
func (l *leads) meeting(m recorder.Meeting) {
	if m.Kind != strategies.Race || len(m.Accesses) != 2 || len(l.all) == maxLeads || l.order.forgotten > 0 {
		return
	}
	one := &lead{of: l.of, seed: l.seed, tests: l.tests, order: appendPositions(nil, l.order.latest)}
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
