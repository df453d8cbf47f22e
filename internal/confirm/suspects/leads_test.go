package suspects

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
)

// met is a meeting of threads 1 and 2.
func met(kind strategies.MeetingKind) recorder.Meeting {
	return recorder.Meeting{Kind: kind, Accesses: []heisen.Access{{Op: heisen.Read, Thread: 1}, {Op: heisen.Write, Thread: 2}}}
}

// accesses gives leads the accesses of threads, in this order, with the numbers after a thread's first point.
func accesses(l *leads, of ...[2]uint64) {
	for _, a := range of {
		r := heisen.Record{Op: heisen.Write, Thread: heisen.Thread(a[0]), Value: 1<<32 | a[1], Flags: recorder.Numbered}
		l.handle(&r)
	}
}

// TestLead: a lead goes to where both accesses are next, and its ends let none of them be made, or one.
func TestLead(t *testing.T) {
	l := &leads{seed: 7, tests: "^TestA$"}
	accesses(l, [2]uint64{1, 1}, [2]uint64{2, 1}, [2]uint64{1, 2})
	l.meeting(met(strategies.Race))
	accesses(l, [2]uint64{3, 1}, [2]uint64{2, 2}, [2]uint64{1, 3}, [2]uint64{2, 3}, [2]uint64{1, 4})
	all := l.complete()
	if len(all) != 1 || all[0].seed != 7 || all[0].tests != "^TestA$" {
		t.Fatalf("leads %+v", all)
	}
	last := func(turns []racefuzz.Turn) map[uint32]uint64 {
		at := map[uint32]uint64{}
		for _, turn := range turns {
			at[turn.ID] = turn.Until
		}
		return at
	}
	for end, want := range [leadEnds][2]uint64{{1<<32 | 3, 1<<32 | 2}, {1<<32 | 4, 1<<32 | 2}, {1<<32 | 3, 1<<32 | 3}} {
		if at := last(all[0].turns(uint64(end))); at[1] != want[0] || at[2] != want[1] || len(at) != 2 {
			t.Errorf("end %d: threads come to %x, want %x", end, at, want)
		}
	}
}

// TestNoLead: meetings of another kind, and those of which an access was not made, are no leads. An execution has a bound on them.
func TestNoLead(t *testing.T) {
	var l leads
	accesses(&l, [2]uint64{1, 1}, [2]uint64{2, 1})
	l.meeting(met(strategies.Violation))
	l.meeting(met(strategies.Race))
	accesses(&l, [2]uint64{1, 2})
	if all := l.complete(); len(all) > 0 {
		t.Errorf("leads %+v", all)
	}
	for range 2 * maxLeads {
		l.meeting(met(strategies.Race))
	}
	accesses(&l, [2]uint64{1, 3}, [2]uint64{2, 2})
	if n := len(l.complete()); n != maxLeads {
		t.Errorf("%d leads", n)
	}
}

// TestLeadsOf: a few leads come from each race, and all that lead to a suspect run the same tests.
func TestLeadsOf(t *testing.T) {
	g := newGathering(&Survey{}, &controlled.Program{})
	one, other := &Suspect{}, &Suspect{}
	for range maxLeadsOf + 1 {
		g.addLeads([]*lead{{of: one}})
	}
	g.addLeads([]*lead{{of: other}, {of: other, tests: "^TestA$"}})
	s := &Suspect{leads: g.leadsTo()}
	if len(s.leads) != maxLeadsOf+1 || s.leads[maxLeadsOf].of != other {
		t.Errorf("%d leads", len(s.leads))
	}
	if n := s.Follows(); n != uint64(len(s.leads))*leadEnds {
		t.Errorf("followed %d times", n)
	}
	for range maxLeadsTo {
		g.addLeads([]*lead{{of: &Suspect{}}})
	}
	if len(g.leads) != maxLeadsTo {
		t.Errorf("%d leads", len(g.leads))
	}
}
