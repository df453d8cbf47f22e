package suspects

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/report"
)

// Promising sorts suspects such that those come first that are most likely to be confirmed, or would
// tell most: those that were known before, predicted ones with a schedule to follow, races that the runs of the survey have shown by
// happens-before, deadlocks, atomic sections, and then the other races. Among those of one kind, suspects come
// first whose places no suspect before them has. The order depends only on its arguments.
func Promising(suspects []*Suspect, runs map[*controlled.Program][]*Run) {
	slices.SortStableFunc(suspects, func(a, b *Suspect) int {
		return cmp.Compare(promise(a, runs[a.Program]), promise(b, runs[b.Program]))
	})
	known := map[programPlace]int{} // suspects before with a place
	again := map[*Suspect]int{}
	for _, s := range suspects {
		for i := range s.Finding.Accesses {
			at := placeIn(s.Program, &s.Finding.Accesses[i])
			again[s] += known[at]
			known[at]++
		}
	}
	slices.SortStableFunc(suspects, func(a, b *Suspect) int {
		return cmp.Or(cmp.Compare(promise(a, runs[a.Program]), promise(b, runs[b.Program])), cmp.Compare(again[a], again[b]))
	})
}

// programPlace is a line of a program.
type programPlace struct {
	program *controlled.Program
	file    string
	line    int
}

func placeIn(p *controlled.Program, a *report.Access) programPlace {
	at, _ := PlaceOf(a)
	return programPlace{p, at.File, at.Line}
}

// promise ranks a suspect by what is known of it. Low ranks come first.
func promise(s *Suspect, runs []*Run) int {
	shown := func(t *Run) bool { return s.raceIn(t.Execution) != nil }
	switch {
	case s.Given:
		return -1
	case s.witness != nil:
		return 0
	case slices.ContainsFunc(runs, shown):
		return 1
	case s.Finding.Kind == heisen.Deadlock:
		return 2
	case s.Finding.Kind == heisen.Atomicity:
		return 3
	}
	return 4
}
