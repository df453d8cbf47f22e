package observed

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// misuseDetector is the Detector of calls that package testing forbids.
const MisuseDetector = "misuse"

// endsOnlyItself is the end of a message about the end of a goroutine that was to be that of a test.
const endsOnlyItself = " of a test is called by a goroutine that does not run the test, and ends only this goroutine"

// MisuseOf returns a call that package testing forbids as a finding, at the line of the program.
func MisuseOf(m recorder.Misuse, symbols *heisen.Symbols) heisen.Finding {
	a := heisen.Access{Op: heisen.Call, Thread: m.Thread, Site: m.Site, Context: m.Context, Labels: m.Labels}
	call, name := callInProgram(a, symbols)
	f := heisen.Finding{Detector: MisuseDetector, Kind: heisen.Misuse, Accesses: []heisen.Access{call}}
	switch {
	case m.Late:
		f.Message = cmp.Or(name, "A method") + lateUse
	case m.Skips:
		f.Message = cmp.Or(name, "SkipNow") + endsOnlyItself
	default:
		f.Message = cmp.Or(name, "FailNow") + endsOnlyItself
	}
	return f
}

// addMisuse adds a finding unless there is one for the call. A use after the end of a test says more than one that was in time.
func AddMisuse(all []report.Finding, f report.Finding) []report.Finding {
	for i := range f.Accesses {
		f.Accesses[i].LocksUnknown, f.Accesses[i].Locks = true, []report.Lock{} // package testing holds some
	}
	at := slices.IndexFunc(all, func(known report.Finding) bool { return known.Fingerprint == f.Fingerprint })
	if at < 0 {
		return append(all, f)
	}
	if InTime(&all[at]) {
		all[at] = f
	}
	return all
}

// IsObserved reports whether a finding is a failure, or one of Observations, and no suspect that was tried.
func IsObserved(f *report.Finding) bool {
	return f.Kind == heisen.Failure || f.Detector == LeakDetector || f.Detector == unstoppableDetector || f.Detector == RaceDetector || f.Detector == MisuseDetector
}
