package cli

import (
	"slices"

	"github.com/heisen-go/heisen/internal/recorder"
)

// Filter says which accesses can be left out for a detector without changing its findings.
type Filter uint8

const (
	// Unfiltered detectors get every access.
	Unfiltered Filter = iota
	// RecorderFiltered detectors do not need the accesses that the recorder leaves out in the mode
	// recorder.Unrepeated.
	RecorderFiltered
	// WithoutAccesses detectors need no accesses.
	WithoutAccesses
)

// filtering is the value of a -filter flag: whether to leave out accesses that the detectors do not
// need.
type filtering bool

func (f *filtering) String() string {
	if *f {
		return "tree"
	}
	return "none"
}

func (f *filtering) Set(name string) error {
	switch name {
	case "tree":
		*f = true
	case "none":
		*f = false
	default:
		return misuse("unknown filter %q; there are tree, none", name)
	}
	return nil
}

// filterFlag defines -filter.
func (inv *invocation) filterFlag(on filtering) *filtering {
	f := &on
	inv.flags.Var(f, "filter", "`filter` that leaves out redundant accesses: tree or none")
	return f
}

// mode returns what programs record for the chosen detectors.
func (f filtering) mode(d *detection) recorder.Mode {
	lowest, fed := WithoutAccesses, len(d.chosen) == 0
	for _, known := range d.known {
		if slices.Contains(d.chosen, known.Name) && !known.live {
			lowest, fed = min(lowest, known.Filter), true
		}
	}
	switch {
	case !fed:
		return recorder.FindingsOnly
	case bool(f) && d.live && d.followed():
		return d.followedMode()
	case !bool(f) || lowest == Unfiltered:
		return recorder.Everything
	case lowest == WithoutAccesses && len(d.chosen) > 0:
		return recorder.Synchronization
	}
	return recorder.Unrepeated
}
