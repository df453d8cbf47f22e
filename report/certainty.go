package report

import (
	"fmt"

	"github.com/heisen-go/heisen"
)

// Certainty says how sure it is that a finding is a bug.
type Certainty int

const (
	Suspected Certainty = iota // nothing says that it can happen, or something may prevent it that is not seen
	Predicted                  // a schedule leads to it
	Confirmed                  // it has happened
)

// String returns the word for a certainty, such as "suspected".
func (c Certainty) String() string {
	switch c {
	case Suspected:
		return "suspected"
	case Predicted:
		return "predicted"
	case Confirmed:
		return "confirmed"
	}
	return fmt.Sprintf("certainty %d", int(c))
}

// Certainty returns how sure it is that the finding is a bug. The same bug has the same Fingerprint, whatever its certainty is, except for a
// race that is only suspected, whose Kind is another one.
func (f *Finding) Certainty() Certainty {
	switch {
	case f.Trials != nil && f.Trials.Confirmed > 0:
		return Confirmed
	case f.Potential(), len(f.Unseen) > 0, f.Kind == heisen.PotentialRace, f.Kind == heisen.Discipline:
		return Suspected
	case len(f.Witness) > 0:
		return Predicted
	case f.Kind == heisen.Deadlock && f.Detector != leakDetector:
		return Suspected
	}
	return Confirmed
}

// leakDetector is the Detector of goroutines that wait for ever, in deadlocks, too.
const leakDetector = "leak"
