package search

import (
	"slices"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/recorder"
)

// further looks for suspects in what the runs of a survey have not done. If an execution of a search starts a
// goroutine, acquires a lock, or chooses a case of a select statement at a new place, or acquires locks at a new
// pair of places, its schedule is repeated and recorded for the detectors of the survey. The executions of the
// search try the suspects that these find. The zero value looks for nothing.
type further struct {
	wanted    bool
	seen      map[recorder.Behavior]bool // what the executions have done in which suspects were looked for
	due       []*recorder.Schedule       // to be repeated
	suspected []*trials.Result
	skipped   []string
}

const (
	// maxLooks bounds the executions of a generation that are repeated, and maxDue those that are to be.
	maxLooks = 2
	maxDue   = 64
)

// takeDue returns the schedules that are repeated in the next generation. Long executions are not: a recorded one
// would take several times as long.
func (f *further) takeDue(long bool) (now []*recorder.Schedule) {
	if long {
		f.due = nil
		return nil
	}
	n := min(len(f.due), maxLooks)
	now, f.due = f.due[:n], f.due[n:]
	return now
}

// maxSuspected bounds the suspects of a unit that the executions of a search try, the first ones.
const maxSuspected = 100

// decidesSuspects reports whether executions with a new behavior of a kind may show new suspects.
func decidesSuspects(b recorder.Behavior) bool {
	switch b.Kind() {
	case recorder.Started, recorder.Locked, recorder.Selected, recorder.Nested:
		return true
	}
	return false
}

// notice takes an execution of the search. Those of an enumeration are left out: if it comes to its end, it has shown
// everything.
func (u *searched) notice(of *plan) {
	t := of.trial
	for _, v := range u.suspected {
		one := *t
		if one.Confirmed, one.First = v.Suspect.HappenedIn(t.Execution); one.Confirmed && v.Confirmed == 0 {
			v.Finding = v.Suspect.AsHappened(t.Execution)
		}
		v.Add(&one)
	}
	if !u.wanted || of.schedule.Explore || len(u.due) == maxDue {
		return
	}
	first := false
	for _, b := range t.Execution.Behaviors {
		if decidesSuspects(b) && !u.Program.Looked[b] && !u.seen[b] {
			if u.seen == nil {
				u.seen = map[recorder.Behavior]bool{}
			}
			u.seen[b], first = true, true
		}
	}
	if first {
		u.due = append(u.due, of.schedule)
	}
}

// suspect takes the suspects in a repeated execution.
func (u *searched) suspect(g *suspects.Surveyed) {
	for _, text := range g.Skipped {
		text = u.Program.Package + ": " + text
		if !slices.Contains(u.skipped, text) {
			u.skipped = append(u.skipped, text)
		}
	}
	for _, s := range g.Suspects {
		known := slices.ContainsFunc(u.suspected, func(v *trials.Result) bool { return v.Suspect.Key() == s.Key() })
		if known || len(u.suspected) == maxSuspected {
			continue
		}
		suspects.AddTargets(u.Unit, s)
		if !u.Program.Suspected[s.Key()] {
			s.SearchedIn(u.Unit)
			u.suspected = append(u.suspected, &trials.Result{Suspect: s, Finding: s.Finding})
		}
	}
}

// suspected returns the results of the suspects that a search of the units has found and tried, each once, and
// messages about what could not be tried, with its package. Of several units with the same suspect, the one counts in which it was
// confirmed most often.
func suspected(units []*searched) (results []*trials.Result, skipped []string) {
	type suspect struct {
		program *controlled.Program
		key     string
	}
	at := map[suspect]int{}
	for _, u := range units {
		for _, text := range u.skipped {
			if !slices.Contains(skipped, text) {
				skipped = append(skipped, text)
			}
		}
		for _, v := range u.suspected {
			v.Sort()
			key := suspect{u.Program, v.Suspect.Key()}
			i, known := at[key]
			switch {
			case !known:
				at[key] = len(results)
				results = append(results, v)
			case v.Confirmed > results[i].Confirmed:
				results[i] = v
			}
		}
	}
	return results, skipped
}
