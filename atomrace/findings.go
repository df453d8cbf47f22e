package atomrace

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/overlap"
)

// findingKey identifies findings that are reported once: by the section and by the ops and sites of
// the accesses.
type findingKey struct {
	section uint32 // 0 for a race
	sides   [4]side
}

type side struct {
	op   heisen.Op
	site heisen.Site
}

// isNew reports whether a finding is not among those that are remembered, and remembers it.
func (d *Detector) isNew(section uint32, accesses ...heisen.Access) bool {
	bound := d.dedup
	switch {
	case bound < 0:
		return true
	case bound == 0:
		bound = defaultDedup
	}
	key := findingKey{section: section}
	for i, a := range accesses {
		key.sides[i%len(key.sides)] = side{a.Op, a.Site}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.reported[key]; known {
		return false
	}
	if d.reported == nil {
		d.reported = map[findingKey]struct{}{}
	}
	if len(d.reported) >= bound {
		clear(d.reported)
	}
	d.reported[key] = struct{}{}
	return true
}

// report hands a finding to the sink.
func (d *Detector) report(f heisen.Finding) {
	if d.sink == nil {
		return
	}
	f.Detector = "atomrace"
	d.sinking.Lock()
	defer d.sinking.Unlock()
	d.sink(f)
}

// reportRaces reports the overlaps that the latest access of th has met. In a stream the detector
// knows the pending accesses of other threads in full.
func (d *Detector) reportRaces(th *thread, later heisen.Access, stream bool) {
	for _, o := range th.hits.Overlaps[:th.hits.NumOverlaps] {
		earlier := d.places.access(o.ID, o.Addr)
		if other := d.known(earlier.Thread); stream && other != nil {
			earlier = other.latest
		}
		if d.isNew(0, earlier, later) {
			d.report(overlap.Race(earlier, later))
		}
	}
}

// reportViolations reports the sections that turned out to be violated when th came to their ends.
// end is the access at the end, or nil if the caller does not have it.
func (d *Detector) reportViolations(th *thread, end *heisen.Access) {
	for i := range th.hits.NumViolations {
		v := &th.hits.Violations[i%uint32(len(th.hits.Violations))]
		first, last := d.places.access(v.Entry, v.Addr), d.places.access(v.End, v.Addr)
		if end != nil {
			last = *end
		}
		if !d.sections.inside(v.Rule, last) {
			continue
		}
		var all [4]heisen.Access
		accesses := append(all[:0], first)
		if v.Wrote && v.WriterFirst {
			accesses = append(accesses, d.places.access(v.Writer, v.Addr))
		}
		if v.Read {
			accesses = append(accesses, d.places.access(v.Reader, v.Addr))
		}
		if v.Wrote && !v.WriterFirst {
			accesses = append(accesses, d.places.access(v.Writer, v.Addr))
		}
		accesses = append(accesses, last)
		if d.isNew(v.Section, accesses...) {
			d.report(overlap.Violation(accesses))
		}
	}
}
