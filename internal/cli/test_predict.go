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
	f.found, f.folder = w.found, w.folder
	f.overlaps.read = w.detect.sections
	var err error
	if _, interrupted := inv.interrupted(); !interrupted {
		ctx, stop := inv.interruptible()
		defer stop()
		if err = f.confirmPredicted(ctx, predicted); ctx.Err() != nil {
			err = errInterrupted
		}
	}
	err = errors.Join(err, f.panics)
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
	if f.confirmer != nil {
		fmt.Fprintf(inv.Err, "%s: %s confirmed in %s, %d of them harmful\n",
			inv.tool.Name, plural.Part(f.confirmed, f.confirmed+f.predicted, "prediction"), plural.Of(f.tried, "execution"), f.harmful)
	}
	return err
}

// confirmPredicted tries predictions. It adds those that it reports to f.reported.
func (f *fuzzRun) confirmPredicted(ctx context.Context, predicted []report.Finding) error {
	if len(f.hide) > 0 {
		return misuse("-hide cannot be combined with controlled schedules")
	}
	if slices.ContainsFunc(predicted, func(p report.Finding) bool { return p.Package == "command-line-arguments" }) {
		return misuse("a list of files is not a package")
	}
	var err error
	if f.origin.Source, err = f.controlledSource(measuring...); err != nil {
		return err
	}
	if packages := packagesOf(predicted); len(packages) > 0 {
		f.origin.Packages = packages
	}
	programs, remove, err := f.build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	f.newConfirmer()
	survey := &confirm.Survey{
		Predict: true, Known: predicted, Sections: f.overlaps.read, Walks: f.walks, QuickWalks: 12,
		Limit: f.limit, Virtual: f.virtual, Procs: f.procs, Resolver: f.resolver,
	}
	var suspects []*confirm.Suspect
	if err := f.runSurvey(ctx, survey, programs, func(_ *confirm.Program, found []*confirm.Suspect, _ []*confirm.Trial) {
		suspects = append(suspects, found...)
	}); err != nil {
		return err
	}
	return f.confirm(ctx, suspects)
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
