package suspects

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// TestMeetings: two goroutines that meet at one of the places of a suspect are another bug.
func TestMeetings(t *testing.T) {
	access := func(op string, line int) report.Access {
		return report.Access{Op: op, Stack: []report.Frame{{Func: "p.f", File: "a.go", Line: line}}}
	}
	meeting := func(a, b report.Access) controlled.Meeting {
		return controlled.Meeting{Meeting: recorder.Meeting{Kind: strategies.Race}, Finding: report.Finding{Kind: heisen.Race, Accesses: []report.Access{a, b}}}
	}
	write, read, elsewhere := access("write", 3), access("read", 5), access("read", 9)
	suspect := func(a, b report.Access) *Suspect {
		return &Suspect{Finding: report.Finding{Kind: heisen.PotentialRace, Accesses: []report.Access{a, b}}}
	}
	for name, test := range map[string]struct {
		suspect *Suspect
		met     []controlled.Meeting
		want    int // -1 for none
	}{
		"the pair":             {suspect(write, read), []controlled.Meeting{meeting(read, write)}, 0},
		"first at one place":   {suspect(write, read), []controlled.Meeting{meeting(write, write), meeting(write, read)}, 1},
		"only at one place":    {suspect(write, read), []controlled.Meeting{meeting(write, write)}, -1},
		"none":                 {suspect(write, read), nil, -1},
		"of equal accesses":    {suspect(write, write), []controlled.Meeting{meeting(write, write)}, 0},
		"not known which ones": {suspect(write, read), []controlled.Meeting{meeting(write, write), meeting(write, elsewhere)}, 1},
	} {
		got := -1
		if m := test.suspect.meetingIn(&controlled.Execution{Meetings: test.met}); m != nil {
			for i := range test.met {
				if m == &test.met[i] {
					got = i
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: meeting %d, want %d", name, got, test.want)
		}
	}
}

// TestFailureWithMeeting: a failure is where the program has failed, whatever has met before.
func TestFailureWithMeeting(t *testing.T) {
	at := func(op, site string) report.Access { return report.Access{Op: op, Site: site} }
	met := controlled.Meeting{Meeting: recorder.Meeting{Kind: strategies.Race}, Finding: report.Finding{Kind: heisen.Race, Accesses: []report.Access{at("write", "a.go:3"), at("read", "a.go:5")}}}
	e := &controlled.Execution{Meetings: []controlled.Meeting{met}, Outcome: controlled.Outcome{Class: controlled.Panicked}, Where: &controlled.FailedAt{Access: at("panic", "a.go:9")}}
	f := AnyFailure(&controlled.Program{}, strategies.RandomWalk).AsHappened(e)
	if f.Kind != heisen.Failure || len(f.Accesses) != 1 || f.Accesses[0].Site != "a.go:9" {
		t.Errorf("%s at %+v", f.Kind, f.Accesses)
	}
}
