package confirm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// misuseDetector is the Detector of calls that package testing forbids.
const misuseDetector = "misuse"

// misuses returns a finding for each place in the program from which calls were made.
func misuses(calls []recorder.Misuse, resolver *Resolver, symbols *heisen.Symbols) (all []report.Finding) {
	for _, call := range calls {
		name := "FailNow"
		if call.Skips {
			name = "SkipNow"
		}
		f := resolver.resolve(heisen.Finding{
			Detector: misuseDetector, Kind: heisen.Misuse,
			Message:  name + " of a test is called by a goroutine that does not run the test, and ends only this goroutine",
			Accesses: []heisen.Access{{Op: heisen.Call, Thread: call.Thread, Site: call.Site, Context: call.Context}},
		}, symbols)
		if slices.ContainsFunc(all, func(known report.Finding) bool { return known.Fingerprint == f.Fingerprint }) {
			continue
		}
		a := &f.Accesses[0]
		a.LocksUnknown = true
		if inside := slices.IndexFunc(a.Stack, func(f report.Frame) bool { return !strings.HasPrefix(f.Func, "testing.") }); inside > 0 {
			a.Stack = a.Stack[inside:]
			a.Site, a.Source, a.Variable = fmt.Sprintf("%s:%d", a.Stack[0].File, a.Stack[0].Line), "", ""
		}
		all = append(all, f)
	}
	return all
}
