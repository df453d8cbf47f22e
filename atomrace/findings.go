package atomrace

import (
	"strings"

	"github.com/heisen-go/heisen"
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
		d.report(RaceOf(earlier, later))
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
		d.report(ViolationOf(accesses))
	}
}

// RaceOf returns what a Detector reports when an access comes while a conflicting one
// is pending; a Finding without the detector's name. It is for programs that find
// overlaps by other means than a Detector.
func RaceOf(pending, later heisen.Access) heisen.Finding {
	return heisen.Finding{
		Kind: heisen.Race, Object: max(pending.Object, later.Object),
		Message:  later.Op.String() + " races with earlier " + pending.Op.String() + ", which is not over",
		Accesses: []heisen.Access{pending, later},
	}
}

// ViolationOf returns what a Detector reports of a section that others came into, as
// RaceOf does of a race: accesses are that at the section's entry, those of others
// that the end does not allow, in their order, and that at the end. Of fewer than three
// the Finding says no more than they do.
func ViolationOf(accesses []heisen.Access) heisen.Finding {
	f := heisen.Finding{
		Kind: heisen.Atomicity, Message: "an atomic section was violated",
		Accesses: append([]heisen.Access(nil), accesses...),
	}
	if len(accesses) > 0 {
		f.Object = accesses[len(accesses)-1].Object
	}
	if len(accesses) > 2 {
		f.Message = tornMessage(accesses)
	}
	return f
}

// tornMessage says what others did to a section that they were not allowed to, and
// which rows of table 1 that is; Interleaving.Description says more.
func tornMessage(accesses []heisen.Access) string {
	var parts []string
	first, last := accesses[0], accesses[len(accesses)-1]
	for _, remote := range accesses[1 : len(accesses)-1] {
		i := Interleaving{modeOf(first.Op), modeOf(remote.Op), modeOf(last.Op)}
		part := remote.Op.String() + " between " + first.Op.String() + " and " + last.Op.String() + " of an atomic section"
		if i.Serialisable() {
			part += ", which does not allow it"
		} else {
			part += ", " + i.String()
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// modeOf returns how an op accesses a variable.
func modeOf(op heisen.Op) Modes {
	if op.IsWrite() {
		return Writes
	}
	return Reads
}
