package suspects

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// onLine returns an access of a function on the line that all functions of these tests share.
func onLine(op heisen.Op, function string) report.Access {
	return report.Access{Op: op.String(), Stack: []report.Frame{{Func: function, File: "/p.go", Line: 7}}}
}

func raceOf(first, second report.Access) report.Finding {
	return report.Finding{Kind: heisen.Race, Accesses: []report.Access{first, second}}
}

// TestOneLine: accesses of functions that stand on one line are different places.
func TestOneLine(t *testing.T) {
	outer, closure := "p.f", "p.f.func1"
	f := raceOf(onLine(heisen.Write, outer), onLine(heisen.Write, closure))
	s, err := suspectOf(&controlled.Program{}, &f, false)
	if err != nil || len(s.Targets) != 2 || s.Targets[0].Func != outer || s.Targets[1].Func != closure {
		t.Fatalf("targets %+v, error %v", s.Targets, err)
	}
	seen := raceOf(onLine(heisen.Write, closure), onLine(heisen.Write, outer))
	if side := s.Side(&seen); side != 1 {
		t.Errorf("side %d went first, not that of the closure", side)
	}
	if FirstAccess(&seen) == "" {
		t.Error("nothing tells the orders apart")
	}
	if got := inOrderOf(&seen, &s.Finding); got.Accesses[0].Stack[0].Func != outer {
		t.Errorf("the first access is that of %s", got.Accesses[0].Stack[0].Func)
	}
	one := raceOf(onLine(heisen.Read, outer), onLine(heisen.Write, closure))
	other := raceOf(onLine(heisen.Write, outer), onLine(heisen.Read, closure))
	if SamePair(&one, &other) {
		t.Error("a read and a write of two functions are the write and the read of them")
	}
	if reversed := raceOf(one.Accesses[1], one.Accesses[0]); !SamePair(&one, &reversed) {
		t.Error("a pair is another one in the other order")
	}
}

// TestOneLineKeys: suspects with other functions on the same lines are other ones, unless the line was given.
func TestOneLineKeys(t *testing.T) {
	g := newGathering(&Survey{}, &controlled.Program{})
	one := raceOf(onLine(heisen.Read, "p.f"), onLine(heisen.Write, "p.f.func1"))
	other := raceOf(onLine(heisen.Write, "p.f"), onLine(heisen.Read, "p.f.func1"))
	first := g.suspect(&one, false)
	if g.suspect(&other, false) == first || len(g.suspects) != 2 {
		t.Errorf("%d suspects", len(g.suspects))
	}
	if reversed := raceOf(one.Accesses[1], one.Accesses[0]); g.suspect(&reversed, false) != first {
		t.Error("the same pair in the other order is another suspect")
	}
	g = newGathering(&Survey{}, &controlled.Program{})
	given := g.suspect(&one, true)
	if given.Targets[0].Func != "" || g.suspect(&one, false) != given {
		t.Errorf("a suspect that was given is tried twice, or only in a function: %+v", given.Targets)
	}
	named := one // by another build
	named.Accesses = []report.Access{onLine(heisen.Read, "p.f"), onLine(heisen.Write, "p.g.f.func1")}
	if given.raceIn(&controlled.Execution{Observed: []report.Finding{named}}) == nil {
		t.Error("a race is not the one that was given, because a function has another name")
	}
}

// TestTestsOfAnExecution: an execution that follows a witness begins with the tests of the witness, and every other one has those in
// which the suspect was seen.
func TestTestsOfAnExecution(t *testing.T) {
	s := &Suspect{Tests: "^TestB$", witness: &witness{tests: "^(TestA|TestB)$"}}
	for strategy, want := range map[strategies.Strategy]string{
		strategies.Follow: "^(TestA|TestB)$", strategies.Replay: "^TestB$", strategies.RaceDirected: "^TestB$",
	} {
		if got := s.TestsOf(&recorder.Schedule{Strategy: strategies.Config{Strategy: strategy}}); got != want {
			t.Errorf("%v: %s, want %s", strategy, got, want)
		}
	}
}
