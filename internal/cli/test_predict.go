package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

// confirmPredictions tries to confirm the bugs that mcm and syncp predicted from the tests, and reports them.
// It runs all tests again with one goroutine at a time, because only then are the positions and values of all
// operations known, and follows what they predict from these runs. A prediction of the first runs that is not made
// again, or that cannot be followed, is tried as in heisen fuzz. A prediction that is not confirmed
// is still reported, as a suspicion.
func (w *observation) confirmPredictions(inv *invocation) error {
	found, hidden := w.predictions.all()
	predicted := oncePredicted(found)
	if len(predicted) == 0 && (len(w.tested) == 0 || w.tested[fileList] || len(inv.hide) > 0) {
		w.found.hide(hidden)
		return nil
	}
	f := inv.newFuzzing(w.known)
	f.found, f.config.Folder, f.overlaps.read, f.config.Causality = w.found, w.folder, w.detect.sections, w.causality
	var err error
	if _, interrupted := inv.interrupted(); !interrupted {
		ctx, stop := inv.interruptible()
		defer stop()
		if err = f.confirmPredicted(ctx, slices.Sorted(maps.Keys(w.tested)), predicted); ctx.Err() != nil {
			err = errInterrupted
		}
	}
	var numbers confirm.Statistics
	if f.campaign != nil {
		err, numbers = errors.Join(err, f.campaign.Panics()), f.campaign.Statistics()
	}
	var misused *usageError
	if errors.As(err, &misused) {
		fmt.Fprintf(inv.Err, "%s: the predictions are not executed: %v\n", inv.tool.Name, err)
		err = nil
	}
	for i := range predicted {
		if one := predicted[i]; !f.reported[one.PairFingerprint()] {
			one.Trials = &report.Trials{Suspect: one.PairFingerprint(), Strategy: "follow", Endings: []report.Ending{}}
			w.found.add(one)
		}
	}
	w.found.hide(hidden)
	if f.campaign != nil {
		fmt.Fprintf(inv.Err, "%s: %s confirmed in %s, %d of them harmful\n", inv.tool.Name,
			plural.Part(numbers.Confirmed, numbers.Confirmed+numbers.Predicted, "prediction"), plural.Of(numbers.Tried, "execution"), numbers.Harmful)
	}
	return err
}

// oncePredicted returns each predicted pair of accesses by itself, without those that another predictor has predicted, too.
func oncePredicted(all []report.Finding) (once []report.Finding) {
	known := map[string]bool{}
	for i := range all {
		for _, one := range all[i].EachPair() {
			if !known[one.PairFingerprint()] {
				known[one.PairFingerprint()] = true
				once = append(once, one)
			}
		}
	}
	return once
}

// fileList is the import path of a package that is given as a list of files.
const fileList = "command-line-arguments"

// confirmPredicted tries predictions, and what is predicted from the tests of packages.
func (f *fuzzRun) confirmPredicted(ctx context.Context, tested []string, predicted []report.Finding) error {
	if len(f.hide) > 0 {
		return misuse("-hide cannot be combined with controlled schedules")
	}
	if slices.Contains(tested, fileList) {
		return misuse("a list of files is not a package")
	}
	source, err := f.controlledSource(measuring...)
	if err != nil {
		return err
	}
	if len(tested) > 0 {
		source.Packages = tested
	}
	if len(f.pkgs) == 0 { // as in the first runs
		source.Patterns = []string{"all"}
	}
	f.config.Predict = true
	giveUp, err := f.begin(ctx, source)
	if err != nil {
		return err
	}
	defer giveUp()
	return f.campaign.Confirm(ctx, predicted)
}
