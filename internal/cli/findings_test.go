package cli

import (
	"testing"

	"github.com/heisen-go/heisen"
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
		f.again = func(*report.Finding) { again++ }
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
