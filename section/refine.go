package section

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen/internal/option"
)

// Pair identifies one way through a section: from its entry to one of its ends.
type Pair struct {
	Variable   string // of the section
	Entry, End Location
}

// Pair returns the pair of the section's entry and Ends[end]. If there is no such end, it returns the
// zero Pair.
func (s *Section) Pair(end int) Pair {
	if end < 0 || end >= len(s.Ends) {
		return Pair{}
	}
	return Pair{s.Variable, s.Entry, s.Ends[end].At}
}

// Observation is the result of one run of a program in which sections were watched.
type Observation struct {
	// Correct is the verdict of an oracle on the run, such as the result of its tests.
	Correct bool
	// Seen are the pairs that a thread went through, violated or not. Violated are the pairs that
	// were violated; they count as seen. Order and repetition have no effect.
	Seen, Violated []Pair
}

// Refiner removes sections that are not meant to be atomic, based on runs of the program (section 4.3 of
// the paper). A pair that is violated in a correct run allows everything from then on. A violation in
// an incorrect run may be the reason why the run is incorrect, so it changes nothing. Runs should show
// many schedules; noise helps.
//
//	for !refiner.Done() {
//		run := ... // of the program, with refiner.Sections() watched
//		if _, err := refiner.Add(run); err != nil {
//			return err
//		}
//	}
//	sections = refiner.Refined()
//
// The cost of Sections, Refined and Add is proportional to the sections and the observation. A Refiner
// is for one goroutine at a time. The zero Refiner has no sections and is done.
type Refiner struct {
	sections  []Section
	pairs     map[Pair]*pairState
	stable    int // correct runs in a row that must change nothing
	unchanged int // correct runs in a row that have changed nothing
}

type pairState struct {
	end  *End
	seen bool
}

// NewRefiner returns a Refiner of sections, which it copies. It is done when the given number of
// correct runs in a row, at least 1, have changed nothing. The error wraps heisen.ErrOption if the
// number is less, and ErrInvalid if Check refuses the sections.
func NewRefiner(sections []Section, stable int) (*Refiner, error) {
	if stable < 1 {
		return nil, fmt.Errorf("section.NewRefiner: %w", option.Errorf("%d runs without change, want at least 1", stable))
	}
	if err := Check(sections); err != nil {
		return nil, err
	}
	r := &Refiner{sections: clone(sections), pairs: map[Pair]*pairState{}, stable: stable}
	for i := range r.sections {
		s := &r.sections[i]
		for j := range s.Ends {
			r.pairs[s.Pair(j)] = &pairState{end: &s.Ends[j]}
		}
	}
	return r, nil
}

func clone(sections []Section) []Section {
	out := slices.Clone(sections)
	for i := range out {
		out[i].Ends = slices.Clone(out[i].Ends)
	}
	return out
}

// Add takes in a run and returns the pairs that it changed. Each of them allows everything now. A run
// that was not correct only marks its pairs as seen. Add returns an error that wraps heisen.ErrOption,
// and ignores the whole run, if a pair of the run belongs to no section.
func (r *Refiner) Add(run Observation) (pruned []Pair, err error) {
	seen := slices.Concat(run.Seen, run.Violated)
	for _, p := range seen {
		if r.pairs[p] == nil {
			return nil, fmt.Errorf("section.Refiner.Add: %w", option.Errorf("no section leads from %q to %q", p.Entry, p.End))
		}
	}
	for _, p := range seen {
		r.pairs[p].seen = true
	}
	if !run.Correct {
		return nil, nil
	}
	for _, p := range run.Violated {
		if end := r.pairs[p].end; end.Allow != Reads|Writes {
			end.Allow = Reads | Writes
			pruned = append(pruned, p)
		}
	}
	r.unchanged++
	if len(pruned) > 0 {
		r.unchanged = 0
	}
	return pruned, nil
}

// Done reports whether enough correct runs in a row have changed nothing.
func (r *Refiner) Done() bool { return r.unchanged >= r.stable }

// Sections returns the sections to watch in the next run: all that were given, in their order, with what
// their ends allow by now.
func (r *Refiner) Sections() []Section {
	return clone(r.sections)
}

// Refined returns the sections that remain. A pair that no run has seen allows everything, and a section
// that can no longer be violated is removed. The other sections keep all their ends, including those
// that allow everything: a thread leaves the section there.
func (r *Refiner) Refined() []Section {
	return slices.DeleteFunc(r.Sections(), func(s Section) bool {
		gone := true
		for j := range s.Ends {
			if !r.pairs[s.Pair(j)].seen {
				s.Ends[j].Allow = Reads | Writes
			}
			gone = gone && s.Ends[j].Allow == Reads|Writes
		}
		return gone
	})
}
