package section

import (
	"fmt"
	"slices"
)

// Pair is an entry of a section and one of its ends: the branch of the section
// that leads from the one to the other.
type Pair struct {
	Variable   string // of the section
	Entry, End Location
}

// Pair returns the pair of the section's entry and Ends[end].
func (s *Section) Pair(end int) Pair {
	return Pair{s.Variable, s.Entry, s.Ends[end].At}
}

// Observation is what one run of a program showed of the sections that were watched in it.
type Observation struct {
	// Correct is what an oracle says of the run: that tests passed, that a checksum
	// was right.
	Correct bool
	// Seen are the pairs that a thread went through, violated or not, and Violated
	// those that were violated. Order and repetition mean nothing, and a violated
	// pair was seen, whether Seen has it or not.
	Seen, Violated []Pair
}

// Refiner prunes sections that are not meant to be atomic after all, going by runs
// of the program (section 4.3 of the paper). What is violated in a correct run is
// allowed from then on; what an incorrect run violates may be what made it so. The
// more schedules the runs show the better: noise helps.
//
//	for !refiner.Done() {
//		run := ... // of the program, with refiner.Sections() watched
//		if _, err := refiner.Add(run); err != nil {
//			return err
//		}
//	}
//	sections = refiner.Refined()
//
// A Refiner is for one goroutine at a time. Sections, Refined and Add cost time
// in proportion to the sections and the run.
type Refiner struct {
	sections []Section
	pairs    map[Pair]*pairState
	calm     int // how many correct runs in a row must change nothing
	quiet    int // how many have
}

type pairState struct {
	end  *End
	seen bool
}

// NewRefiner returns a Refiner of sections, which it copies, that is done when so
// many correct runs one after the other have changed nothing. calm is at least 1.
// The error wraps ErrInvalid if Check refuses the sections.
func NewRefiner(sections []Section, calm int) (*Refiner, error) {
	if calm < 1 {
		return nil, fmt.Errorf("section: refining ends after %d runs without change: at least 1", calm)
	}
	if err := Check(sections); err != nil {
		return nil, err
	}
	r := &Refiner{sections: clone(sections), pairs: map[Pair]*pairState{}, calm: calm}
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

// Add takes in a run and returns the pairs that it changed: each allows everything
// now. A run that was not correct changes nothing and counts nowhere, except that
// what it saw was seen. An error says that the run has a pair of no section; then
// none of the run is taken in.
func (r *Refiner) Add(run Observation) (pruned []Pair, err error) {
	seen := slices.Concat(run.Seen, run.Violated)
	for _, p := range seen {
		if r.pairs[p] == nil {
			return nil, fmt.Errorf("section: refine: no section leads from %v to %v", p.Entry, p.End)
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
	r.quiet++
	if len(pruned) > 0 {
		r.quiet = 0
	}
	return pruned, nil
}

// Done reports whether enough correct runs one after the other have changed
// nothing.
func (r *Refiner) Done() bool { return r.quiet >= r.calm }

// Sections returns the sections as they are to be watched in the next run, in the
// order in which they were given. No section and no end is missing.
func (r *Refiner) Sections() []Section { return clone(r.sections) }

// Refined returns what is left of the sections. A pair that no run has seen is
// allowed everything, and a section that can no longer be violated is gone. Where
// it can, all its ends stay: a thread that comes to an end that allows everything
// has left the section, and would otherwise be taken to be in it still.
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
