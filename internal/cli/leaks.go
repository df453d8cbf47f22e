package cli

import (
	"slices"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/recorder"
)

// leakName is the detector of goroutines that wait for ever. Programs look for them themselves.
const leakName = "leak"

// leaks reports whether goroutines that wait for ever are looked for.
func (d *detection) leaks() bool { return slices.Contains(d.chosen, leakName) }

// observeLeaks reports the goroutines of a stream that wait for ever, as they are found. It returns a
// detector for the stream, and a function that says how many findings of the stream are reported.
func (w *observation) observeLeaks(stream *recorder.Stream, mode recorder.Mode, from origin) (*confirm.Leaks, func() int) {
	leaks := confirm.NewLeaks(stream.Symbols(), mode, w.found.resolver)
	reported := map[string]bool{} // fingerprints
	stream.OnLeaks(func(leaked []recorder.Blocked) (goroutines int) {
		for _, f := range leaks.Findings(leaked) {
			f.Package = from.pkg
			if w.found.add(f) {
				reported[f.Fingerprint] = true
				goroutines += int(f.Count)
			}
		}
		return goroutines
	})
	return leaks, func() int { return len(reported) }
}
