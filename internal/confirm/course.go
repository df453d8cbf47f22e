package confirm

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
)

// course is a detector that keeps which way an execution has gone, so that the witnesses
// of predictions can be followed from the start. Its records are Placed.
type course struct {
	before []racefuzz.Position // of several in a row of one goroutine the last
	latest []racefuzz.Position // one for each of the latest events
	gone   uint64              // events before these
	starts []racefuzz.Creation
}

// kept is how many events stay in latest: more than mcm looks back from where it reports.
const kept = 1 << 16

// Handle implements heisen.Detector.
func (c *course) Handle(e heisen.Event) { c.handle(heisen.AsRecord(e)) }

// Flush implements heisen.Detector.
func (c *course) Flush() error { return nil }

func (c *course) handle(r *heisen.Record) {
	m := momentOf(r)
	if r.Op == heisen.Fork {
		c.starts = append(c.starts, racefuzz.Creation{Position: racefuzz.Position{ID: uint32(r.Thread), Seq: m.Seq}, Child: uint32(r.Object)})
	}
	if len(c.latest) == 2*kept {
		c.before = appendMoments(c.before, c.latest[:kept])
		c.latest = append(c.latest[:0], c.latest[kept:]...)
		c.gone += kept
	}
	c.latest = append(c.latest, m)
}

// momentOf returns of what an event is: of no task if it is neither an access nor
// synchronisation.
func momentOf(r *heisen.Record) racefuzz.Position {
	if r.Flags&recorder.Placed == 0 {
		return racefuzz.Position{ID: racefuzz.NoTask}
	}
	return racefuzz.Position{ID: uint32(r.Thread), Seq: r.Value}
}

// appendMoments appends those that are of a task; of several in a row of one task the
// last stays.
func appendMoments(all, more []racefuzz.Position) []racefuzz.Position {
	for _, m := range more {
		last := len(all) - 1
		switch {
		case m.ID == racefuzz.NoTask:
		case last >= 0 && all[last].ID == m.ID:
			all[last] = m
		default:
			all = append(all, m)
		}
	}
	return all
}

// witness is an order that was predicted to show a bug.
type witness struct {
	seed  uint64              // of the execution that it was predicted from
	order []racefuzz.Position // up to the operations that are next at the same time
	next  []racefuzz.Position // these, in the order in which they were predicted
	both  bool                // they may as well come in the other order

	starts []racefuzz.Creation // of that execution
}

// witnessOf returns the witness of a finding whose accesses are next at its end; nil if it
// is not known how to come there. Of a section it is the last one, and the remote one may
// be next as well.
func (c *course) witnessOf(f *heisen.Finding, seed uint64) *witness {
	n := len(f.Witness) - len(f.Accesses)
	if f.Kind == heisen.Atomicity && len(f.Accesses) == 3 {
		n = len(f.Witness) - 1
		if remote := &f.Accesses[1]; n > 0 && f.Witness[n-1].Thread == remote.Thread && f.Witness[n-1].Site == remote.Site {
			n--
		}
	}
	if n < 0 || len(f.Accesses) < 2 || f.Before < c.gone || f.Before > c.gone+uint64(len(c.latest)) {
		return nil
	}
	w := &witness{seed: seed, both: f.Kind != heisen.Atomicity, order: appendMoments(slices.Clone(c.before), c.latest[:f.Before-c.gone])}
	for i := range f.Witness[:n] {
		w.order = appendMoments(w.order, []racefuzz.Position{momentOf(&f.Witness[i])})
	}
	for i := range f.Witness[n:] {
		m := momentOf(&f.Witness[n+i])
		if m.ID == racefuzz.NoTask || m.Seq == 0 {
			return nil
		}
		w.next = append(w.next, m)
	}
	if len(w.order)+2*len(w.next) > racefuzz.MaxChoices { // more than a schedule can have
		return nil
	}
	return w
}

// turns returns those that lead to the operations, and then have them made; the
// other way round if reverse.
func (w *witness) turns(reverse bool) []racefuzz.Turn {
	next := slices.Clone(w.next)
	if reverse {
		slices.Reverse(next)
	}
	return racefuzz.Turns(w.order, next, w.starts)
}
