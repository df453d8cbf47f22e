package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/plural"
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
			f.suspected = append(f.suspected, *g)
		}
	}
	if len(f.suspected) == 0 {
		return errors.New(f.given + ": no races, deadlocks or violated sections")
	}
	return nil
}

// mentionGiven says which of the findings of -findings were not confirmed.
func (f *fuzzRun) mentionGiven(results []*confirm.Result) {
	for i := range f.suspected {
		g := &f.suspected[i]
		executions, confirmed := 0, false
		for _, v := range results {
			if v.Suspect.Finding.Fingerprint == g.Fingerprint {
				executions, confirmed = executions+v.Tried, confirmed || v.Confirmed > 0
			}
		}
		if !confirmed {
			var places []string
			for j := range g.Accesses {
				places = append(places, g.Accesses[j].Site)
			}
			fmt.Fprintf(f.Err, "%s: not confirmed in %s: %s\n", f.tool.Name, plural.Of(executions, "execution"), strings.Join(places, ", "))
		}
	}
}
