package tracewindow

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/fold"
)

// survey reads the trace for the first time: it counts events and looks for findings. The detectors
// get the events one by one, so that it is known at which one a finding was made. damage is the error
// of the trace and that of detectors whose findings are incomplete, and err any other.
func (s *selection) survey() (damage, err error) {
	var found *fold.Set
	var detector heisen.Detector
	var now uint64
	start := func(symbols *heisen.Symbols) error {
		known := map[[2]string]bool{} // a race in the other order is the same finding
		found = fold.NewSet(symbols, func(i fold.Item) {
			id := [2]string{i.Finding.Detector, i.Fingerprint}
			if !known[id] {
				known[id] = true
				s.items = append(s.items, item{i.Finding, i.Fingerprint, now})
			}
		})
		detectors, err := s.q.Detectors(symbols, found.Add)
		detector = heisen.Tee(detectors...)
		return err
	}
	read, symbols, damage := s.each(math.MaxUint64, func(heisen.Thread, *heisen.Symbols) bool { return false },
		func(r *heisen.Record, number uint64, symbols *heisen.Symbols) error {
			if detector == nil {
				if err = start(symbols); err != nil {
					return err
				}
			}
			now = number
			detector.Handle(r.Event())
			return nil
		})
	if err != nil || symbols == nil {
		return nil, firstOf(err, damage) // of Detectors, or of Open
	}
	if s.ctx.Err() != nil {
		return nil, s.ctx.Err()
	}
	if detector != nil {
		err = detector.Flush()
	}
	s.w.Total = read
	s.names = newNames(s.q, symbols)
	if damage == io.EOF { // not errors.Is: a wrapped io.EOF is damage
		damage = nil
	}
	return errors.Join(damage, err), nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// choose chooses the finding that the window is about: the one that the query names, else the first one
// that fits it.
func (s *selection) choose() error {
	s.w.Findings = len(s.items)
	i := -1
	if name := s.q.Finding; name == "" {
		i = slices.IndexFunc(s.items, s.fits)
	} else if number, err := strconv.Atoi(name); err == nil && len(name) < 16 {
		i = number - 1
	} else {
		i = slices.IndexFunc(s.items, func(i item) bool {
			return i.fingerprint == name || s.q.Resolver.Resolve(i.finding, s.names.symbols).Fingerprint == name
		})
	}
	if i < 0 || i >= len(s.items) {
		if s.q.Finding != "" {
			return fmt.Errorf("%w: %s; there are %d", ErrNoFinding, s.q.Finding, len(s.items))
		}
		return nil
	}
	s.about, s.w.Number = &s.items[i], i+1
	return nil
}

// fits reports whether a finding is about what the query asks for.
func (s *selection) fits(i item) bool {
	accesses := i.finding.Accesses
	if len(accesses) == 0 {
		return false
	}
	if s.q.First != 0 || s.q.Last != 0 {
		at := accesses[len(accesses)-1].Index
		if at == 0 {
			at = i.at
		}
		if at < s.q.First || s.q.Last != 0 && at > s.q.Last {
			return false
		}
	}
	if len(s.q.Goroutines) > 0 && !slices.ContainsFunc(accesses, func(a heisen.Access) bool { return s.names.goroutine(a.Thread, s.names.symbols) }) {
		return false
	}
	return len(s.q.Objects) == 0 || s.names.about(&i.finding)
}
