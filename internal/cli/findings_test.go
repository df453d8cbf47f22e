package cli

import (
	"strconv"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/allocsite"
	"github.com/heisen-go/heisen/internal/fold"
	"github.com/heisen-go/heisen/report"
)

// shownRace returns a race as an execution has shown it.
func shownRace(detector, pkg string, harmful bool) report.Finding {
	return report.Finding{Detector: detector, Kind: heisen.Race, Fingerprint: "f", Count: 2, Package: pkg,
		Trials: &report.Trials{Executions: 2, Confirmed: 2, Harmful: harmful}}
}

// TestPrintedOnce: a bug that executions have shown is printed once, and again only if it turns out to do harm.
func TestPrintedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		all     []report.Finding
		printed int
		harmful bool
	}{
		"suspect and observation":  {[]report.Finding{shownRace("racefuzz", "a", false), shownRace("fasttrack", "b", false)}, 1, false},
		"observation and suspect":  {[]report.Finding{shownRace("fasttrack", "b", false), shownRace("racefuzz", "a", false)}, 1, false},
		"two packages":             {[]report.Finding{shownRace("racefuzz", "a", true), shownRace("racefuzz", "b", false)}, 1, true},
		"harm in another package":  {[]report.Finding{shownRace("racefuzz", "a", false), shownRace("fasttrack", "b", true)}, 2, true},
		"harm again":               {[]report.Finding{shownRace("racefuzz", "a", true), shownRace("fasttrack", "b", true)}, 1, true},
		"harm in the same package": {[]report.Finding{shownRace("racefuzz", "a", false), shownRace("racefuzz", "a", true)}, 2, true},
	} {
		printed, again := 0, 0
		f := newFindings(nil, func(*report.Finding) error { printed++; return nil }, &knownFindings{})
		f.retell = func(before, now *report.Finding) { again++ }
		for _, one := range test.all {
			f.add(one)
		}
		all, _ := f.all()
		if len(all) != 1 || all[0].Count != 4 || all[0].Trials.Harmful != test.harmful {
			t.Errorf("%s: %+v", name, all)
		}
		if printed != test.printed || again != printed-1 {
			t.Errorf("%s: printed %d times, %d times again", name, printed, again)
		}
	}
}

// TestToldAgain: a deadlock is one finding, whoever suspects, predicts or shows it, and is told again when it is more certain than before. A
// baseline of the suspicion does not hide what has happened.
func TestToldAgain(t *testing.T) {
	suspected := report.Finding{Detector: "lockorder", Kind: heisen.Deadlock, Fingerprint: "d", Count: 1}
	predicted := report.Finding{Detector: "syncp", Kind: heisen.Deadlock, Fingerprint: "d", Count: 1, Witness: []report.Step{{}}}
	atRest := report.Finding{Detector: "leak", Kind: heisen.Deadlock, Fingerprint: "d", Count: 1}
	confirmed := report.Finding{Detector: "racefuzz", Kind: heisen.Deadlock, Fingerprint: "d", Count: 1, Trials: &report.Trials{Confirmed: 1, Harmful: true}}
	for name, test := range map[string]struct {
		all     []report.Finding
		printed int
		known   *report.Finding
	}{
		"rising":                    {[]report.Finding{suspected, predicted, confirmed}, 3, nil},
		"falling":                   {[]report.Finding{confirmed, predicted, suspected, atRest}, 1, nil},
		"at rest":                   {[]report.Finding{suspected, atRest}, 2, nil},
		"a known suspicion":         {[]report.Finding{suspected}, 0, &suspected},
		"more than the suspicion":   {[]report.Finding{suspected, predicted}, 1, &suspected},
		"more than the prediction":  {[]report.Finding{suspected, predicted, confirmed}, 1, &predicted},
		"all known":                 {[]report.Finding{suspected, predicted, atRest, confirmed}, 0, &confirmed},
		"known at rest, and harmed": {[]report.Finding{suspected, confirmed}, 0, &atRest},
	} {
		printed := 0
		known := &knownFindings{baseline: &report.Baseline{}}
		if test.known != nil {
			known.baseline.Add(*test.known)
		}
		f := newFindings(nil, func(*report.Finding) error { printed++; return nil }, known)
		for _, one := range test.all {
			f.add(one)
		}
		if all, _ := f.all(); printed != test.printed || len(all) != min(1, test.printed) {
			t.Errorf("%s: printed %d times, %d findings", name, printed, len(all))
		}
	}
}

// TestComplete: detectors may go on to find when no finding could be reported any more. Nothing is collected then.
func TestComplete(t *testing.T) {
	for name, complete := range map[string]func(*findings){
		"left alone": (*findings).leave,
		"too many": func(f *findings) {
			for i := range maxFindings + 1 {
				f.add(report.Finding{Fingerprint: strconv.Itoa(i)})
			}
		},
		"too many on trial": func(f *findings) {
			f.trial.seen = make([]trialFinding, maxFindings)
			f.see(fold.Item{}, origin{symbols: new(heisen.Symbols), memory: &allocsite.Tracker{}})
		},
	} {
		f := newFindings(nil, nil, &knownFindings{})
		f.full = func() {}
		if name == "too many on trial" {
			f.trial = &trialFindings{full: func() {}}
		}
		taken := 0
		sink := f.untilComplete(func(heisen.Finding) { taken++ })
		sink(heisen.Finding{})
		complete(f)
		sink(heisen.Finding{})
		if taken != 1 {
			t.Errorf("%s: %d findings are collected, want the one before", name, taken)
		}
	}
}
