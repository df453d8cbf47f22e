package cli

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
)

// leakName is the detector of goroutines that wait for ever, and unstoppableName that of those that nothing can stop any
// more. Programs look for both themselves, in one search.
const (
	leakName        = "leak"
	unstoppableName = "unstoppable"
)

// searchesGoroutines reports whether a detector is one for which programs search their goroutines.
func searchesGoroutines(detector string) bool {
	return detector == leakName || detector == unstoppableName
}

// leaks reports whether goroutines are searched for.
func (d *detection) leaks() bool { return slices.ContainsFunc(d.chosen, searchesGoroutines) }

// onTrace returns an error if a chosen detector needs more than the events of a trace.
func (d *detection) onTrace(tool string) error {
	if i := slices.IndexFunc(d.chosen, searchesGoroutines); i >= 0 {
		return misuse("-detect %s: a trace does not say what goroutines wait for; %s run and %[2]s test look for them", d.chosen[i], tool)
	}
	return nil
}

// observeLeaks reports the goroutines of a stream that were searched for, as they are found. It returns a
// detector for the stream, and a function that says how many findings of the stream are reported.
func (w *observation) observeLeaks(stream *recorder.Stream, mode recorder.Mode, from origin) (*observed.Leaks, func() int) {
	leaks := observed.NewLeaks(stream.Symbols(), mode, w.found.resolver)
	reported := map[string]bool{} // fingerprints
	stream.OnLeaks(func(leaked []recorder.Blocked) (goroutines int) {
		for _, f := range leaks.Findings(leaked) {
			if !slices.Contains(w.detect.chosen, f.Detector) {
				continue
			}
			f.Package = from.packageOf(&f)
			waiting := int(f.Count)
			if f.Kind == heisen.Deadlock {
				f.Count = 1
			}
			if w.found.add(f) {
				reported[f.Fingerprint] = true
				goroutines += waiting
			}
		}
		return goroutines
	})
	return leaks, func() int { return len(reported) }
}
