package cli

import (
	"errors"

	"github.com/heisen-go/heisen"
)

// Findings of other tools, or of earlier runs, that heisen fuzz tries first (-findings).

// readGiven reads the file of -findings.
func (f *fuzzRun) readGiven() error {
	found, err := findingsIn(f.given)
	if err != nil {
		return err
	}
	for i := range found {
		switch g := &found[i]; g.Kind {
		case heisen.PotentialRace, heisen.Race, heisen.Deadlock, heisen.Atomicity:
			g.Detector, g.Package, g.Trials, g.Witness, g.Replay = "", "", nil, nil, ""
			f.config.Known = append(f.config.Known, *g)
		}
	}
	if len(f.config.Known) == 0 {
		return errors.New(f.given + ": no races, deadlocks or violated sections")
	}
	return nil
}
