package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

// confirmPredictions tries to confirm the bugs that mcm predicted from the tests, and reports them.
// It runs the tests again with one goroutine at a time, because only then are the positions of all
// operations known, and follows what mcm predicts from these runs. A prediction that is not made
// again, or that cannot be followed, is tried as in heisen fuzz. A prediction that is not confirmed
// is still reported.
func (w *observation) confirmPredictions(inv *invocation) error {
	predicted, hidden := w.predictions.all()
	if len(predicted) == 0 {
		w.found.hide(hidden)
		return nil
	}
	f := inv.newFuzzing(w.known)
	f.found, f.config.Folder, f.overlaps.read = w.found, w.folder, w.detect.sections
	var err error
	if _, interrupted := inv.interrupted(); !interrupted {
		ctx, stop := inv.interruptible()
		defer stop()
		if err = f.confirmPredicted(ctx, predicted); ctx.Err() != nil {
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
		if !f.reported[predicted[i].Fingerprint] {
			w.found.add(predicted[i])
		}
	}
	w.found.hide(hidden)
	if f.campaign != nil {
		fmt.Fprintf(inv.Err, "%s: %s confirmed in %s, %d of them harmful\n", inv.tool.Name,
			plural.Part(numbers.Confirmed, numbers.Confirmed+numbers.Predicted, "prediction"), plural.Of(numbers.Tried, "execution"), numbers.Harmful)
	}
	return err
}

// confirmPredicted tries predictions.
func (f *fuzzRun) confirmPredicted(ctx context.Context, predicted []report.Finding) error {
	if len(f.hide) > 0 {
		return misuse("-hide cannot be combined with controlled schedules")
	}
	if slices.ContainsFunc(predicted, func(p report.Finding) bool { return p.Package == "command-line-arguments" }) {
		return misuse("a list of files is not a package")
	}
	source, err := f.controlledSource(measuring...)
	if err != nil {
		return err
	}
	if packages := packagesOf(predicted); len(packages) > 0 {
		source.Packages = packages
	}
	giveUp, err := f.begin(ctx, source)
	if err != nil {
		return err
	}
	defer giveUp()
	return f.campaign.Confirm(ctx, predicted)
}

// packagesOf returns the tested packages of findings. It returns nothing if one of them is not
// known.
func packagesOf(findings []report.Finding) (packages []string) {
	for i := range findings {
		switch p := findings[i].Package; {
		case p == "":
			return nil
		case !slices.Contains(packages, p):
			packages = append(packages, p)
		}
	}
	return packages
}
