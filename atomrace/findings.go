package atomrace

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/overlap"
)

// findingKey is what findings have in common that are reported once: the ops and sites
// of a race or of a section's accesses, and the section.
type findingKey struct {
	section uint32 // 0 for a race
	sides   [4]side
}

type side struct {
	op   heisen.Op
	site heisen.Site
}

// fresh reports whether a finding is not a repetition of one that is remembered, and
// remembers it.
func (d *Detector) fresh(section uint32, accesses ...heisen.Access) bool {
	if d.remember == 0 {
		return true
	}
	key := findingKey{section: section}
	for i, a := range accesses {
		key.sides[i%len(key.sides)] = side{a.Op, a.Site}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, again := d.reported[key]; again {
		return false
	}
	if len(d.reported) >= d.remember {
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

// races reports the overlaps that an access of th has met. In a stream it is known what
// other threads have pending.
func (d *Detector) races(th *thread, later heisen.Access, stream bool) {
	for _, o := range th.hits.At[:th.hits.Overlaps] {
		earlier := d.places.access(o.Who, o.Addr)
		if other := d.known(earlier.Thread); stream && other != nil {
			earlier = other.latest
		}
		if !d.fresh(0, earlier, later) {
			continue
		}
		d.report(overlap.Race(earlier, later))
	}
}

// violations reports the sections that were violated when th came to their ends. end
// is the access at the end, nil if it is not at hand.
func (d *Detector) violations(th *thread, end *heisen.Access) {
	for i := range th.hits.Violations {
		v := &th.hits.Broken[i%uint32(len(th.hits.Broken))]
		first, last := d.places.access(v.Entry, v.Addr), d.places.access(v.End, v.Addr)
		if end != nil {
			last = *end
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
		if !d.fresh(v.Section, accesses...) {
			continue
		}
		d.report(overlap.Violation(accesses))
	}
}
