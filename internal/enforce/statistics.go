package enforce

import (
	"github.com/heisen-go/heisen/heal"
)

// Statistics counts operations in the source of a program. The fields with two numbers are about inserted locks, before
// they are brought into an order that cannot deadlock and after.
type Statistics struct {
	ProgramLocks, ProgramAcquisitions, ProgramReleases int

	Locks, Tables                int // inserted: variables with a lock, and those with one for each object
	Shared, Update, Exclusive    [2]int
	Degradations, Releases, Held [2]int // Held: acquisitions that keep locks in order
}

// Statistics counts the operations of the plan and of the program.
func (plan *Plan) Statistics() (Statistics, error) {
	s := Statistics{Locks: len(plan.names), Tables: len(plan.objects)}
	locks := map[string]bool{}
	for i, f := range plan.functions {
		for _, op := range f.Locks {
			locks[op.Lock] = true
			if op.Release {
				s.ProgramReleases++
			} else {
				s.ProgramAcquisitions++
			}
		}
		for name, v := range f.Variables {
			alone, err := heal.Place(f.Graph, v)
			if err != nil {
				return s, err
			}
			s.add(0, alone)
			s.add(1, plan.result.Placements[i][name])
		}
	}
	s.ProgramLocks = len(locks)
	return s, nil
}

// add counts the operations of a placement.
func (s *Statistics) add(n int, p *heal.Placement) {
	if p == nil {
		return
	}
	for _, a := range p.Acquisitions {
		switch {
		case a.Hold >= 0:
			s.Held[n]++
		case a.Mode == heal.Shared:
			s.Shared[n]++
		case a.Mode == heal.Update:
			s.Update[n]++
		default:
			s.Exclusive[n]++
		}
	}
	for _, r := range p.Releases {
		if r.Left > heal.Free {
			s.Degradations[n]++
		} else {
			s.Releases[n]++
		}
	}
}
