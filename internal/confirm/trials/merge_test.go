package trials

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestMerge merges the results of three machines for two suspects: one machine did not confirm the
// first suspect, two did.
func TestMerge(t *testing.T) {
	first, second := 0, 1
	unconfirmed := report.Finding{Kind: heisen.PotentialRace, Fingerprint: "s1", Count: 1, Trials: &report.Trials{
		Suspect: "s1", Executions: 5, Endings: []report.Ending{{Outcome: "passed", Count: 5, Seed: 1}},
	}}
	other := report.Finding{Kind: heisen.PotentialRace, Fingerprint: "s2", Count: 1, Trials: &report.Trials{
		Suspect: "s2", Executions: 5, Endings: []report.Ending{{Outcome: "passed", Count: 5, Seed: 1}},
	}}
	harmless := report.Finding{Kind: heisen.Race, Fingerprint: "r1", Count: 2, Trials: &report.Trials{
		Suspect: "s1", Executions: 3, Confirmed: 2, Outside: []string{"network"},
		Endings: []report.Ending{{Outcome: "passed", Confirmed: true, First: &first, Count: 2, Seed: 6}, {Outcome: "passed", Count: 1, Seed: 8}},
	}}
	harmful := report.Finding{Kind: heisen.Race, Fingerprint: "r1", Count: 2, Replay: "heisen replay r1", Trials: &report.Trials{
		Suspect: "s1", Executions: 2, Confirmed: 2, Harmful: true, Replayed: true, Choices: 3,
		Endings: []report.Ending{
			{Outcome: "panic", Confirmed: true, First: &second, Count: 1, Seed: 9, Schedule: "r1"},
			{Outcome: "passed", Confirmed: true, First: &first, Count: 1, Seed: 10},
		},
	}}
	plain := report.Finding{Kind: heisen.Race, Fingerprint: "x"}
	want := []report.Finding{
		{Kind: heisen.Race, Fingerprint: "r1", Count: 4, Replay: "heisen replay r1", Trials: &report.Trials{
			Suspect: "s1", Executions: 10, Confirmed: 4, Harmful: true, Replayed: true, Choices: 3, Outside: []string{"network"},
			Endings: []report.Ending{
				{Outcome: "panic", Confirmed: true, First: &second, Count: 1, Seed: 9, Schedule: "r1"},
				{Outcome: "passed", Confirmed: true, First: &first, Count: 3, Seed: 6},
				{Outcome: "passed", Count: 6, Seed: 1},
			},
		}},
		other, plain,
	}
	got := Merge([]report.Finding{unconfirmed, other, harmless, plain, harmful})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if unconfirmed.Trials.Executions != 5 || harmless.Trials.Executions != 3 || len(harmless.Trials.Endings) != 2 {
		t.Error("what was merged has changed")
	}
}

// TestMergePairs: the pairs of accesses to a variable are merged each by itself.
func TestMergePairs(t *testing.T) {
	trials := func(suspect string, n int) *report.Trials {
		return &report.Trials{Suspect: suspect, Executions: n, Confirmed: n, Endings: []report.Ending{}}
	}
	one := report.Finding{Kind: heisen.Race, Fingerprint: "v", Identity: "p.x", Pair: "1", Count: 2, Trials: trials("1", 2)}
	one.AddPairs(&report.Finding{Kind: heisen.Race, Fingerprint: "v", Identity: "p.x", Pair: "2", Count: 3, Trials: trials("2", 3)})
	other := report.Finding{Kind: heisen.Race, Fingerprint: "v", Identity: "p.x", Pair: "2", Count: 4, Trials: trials("2", 4)}
	got := Merge([]report.Finding{one, other})
	if len(got) != 2 || got[0].Trials.Confirmed != 2 || got[1].Trials.Confirmed != 7 || got[1].Fingerprint != "v" || got[1].PairFingerprint() != "2" {
		t.Errorf("%+v", got)
	}
}
