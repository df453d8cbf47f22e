package cli

import (
	"slices"

	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/trace"
)

// gaps returns what the streams of the programs of inv leave out in a mode.
func (inv *invocation) gaps(mode recorder.Mode) (g trace.Gaps) {
	g.Repeated = mode == recorder.Unrepeated
	if !slices.Contains(inv.pkgs, "all") {
		g.Packages = inv.pkgs
	}
	if inv.hidden != nil {
		g.Hidden = inv.hidden.Packages
	}
	return g
}

// refuses returns an error if a chosen detector needs what a stream with gaps leaves out.
func (d *detection) refuses(g trace.Gaps) error {
	for _, known := range d.known {
		switch {
		case !slices.Contains(d.chosen, known.Name):
		case g.Repeated && known.Filter == Unfiltered:
			return misuse("-detect %s: the detector needs all accesses, and redundant ones are missing because of -filter tree", known.Name)
		case len(g.Hidden) > 0 && known.Name == serialName && d.transactions.asked(d.marked):
			return misuse("-detect %s: what calls of hidden packages order is not known to it, so it cannot tell what came without being asked; -transactions says what must be atomic", known.Name)
		}
	}
	return nil
}

// doubtsAbout returns what may order the accesses of a detector's findings without being seen, see report.Finding.Unseen. What
// atomrace reports has happened whatever else synchronizes, and a search for goroutines does not judge an order. A prediction also
// depends on what the packages do that are not recorded: values of their variables can keep accesses apart.
func doubtsAbout(g trace.Gaps, detector string) (all []string) {
	if detector == atomraceName || searchesGoroutines(detector) {
		return nil
	}
	all = slices.Clone(g.Unseen)
	if predicts(detector) && len(g.Packages) > 0 {
		all = append(all, "what -pkgs leaves out")
	}
	return all
}
