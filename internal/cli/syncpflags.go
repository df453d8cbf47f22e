package cli

import (
	"os"
	"slices"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/syncp"
)

const syncpName = "syncp"

// predicts reports whether the findings of a detector are predictions, with schedules.
func predicts(detector string) bool { return detector == mcmName || detector == syncpName }

// newSyncP returns the detector of whole streams. What has no room in memory goes to a temporary file.
func newSyncP(sink heisen.Sink) (heisen.Detector, error) {
	return syncp.NewDetector(syncp.WithSink(sink), syncp.WithSpill(os.TempDir()))
}

// cycles adds to the cycles of locks that lockorder finds the schedules that a predictor has found for them. The
// predictor must see each event before lockorder.
type cycles struct {
	symbols *heisen.Symbols
	mu      sync.Mutex
	known   map[string]heisen.Finding // by fingerprint
}

// predicted returns a sink for predictions, which go to another one.
func (c *cycles) predicted(to heisen.Sink) heisen.Sink {
	return func(f heisen.Finding) {
		if f.Kind == heisen.Deadlock {
			c.mu.Lock()
			c.known[f.Fingerprint(c.symbols)] = heisen.Finding{Witness: slices.Clone(f.Witness), Last: f.Last, Before: f.Before}
			c.mu.Unlock()
		}
		to(f)
	}
}

// confirm returns a sink for the cycles, which go to another one.
func (c *cycles) confirm(to heisen.Sink) heisen.Sink {
	return func(f heisen.Finding) {
		c.mu.Lock()
		by, ok := c.known[f.Fingerprint(c.symbols)]
		c.mu.Unlock()
		if ok {
			f.Witness, f.Last, f.Before = by.Witness, by.Last, by.Before
			f.Message += " (confirmed by a schedule)"
		}
		to(f)
	}
}
