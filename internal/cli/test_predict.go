package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/report"
)

// confirmPredictions tries to confirm the bugs that mcm predicted from the tests, and reports them. It runs
// the tests again with one goroutine at a time, because only then the positions of all operations are
// known, and follows what mcm predicts from that. A prediction that does not come again, or that cannot
// be followed, is tried as in heisen fuzz. A prediction that is not confirmed is still reported.
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
		fmt.Fprintf(inv.Err, "%s: %d of %d predictions confirmed in %d executions, %d of them harmful\n",
			inv.tool.Name, f.confirmed, f.confirmed+f.predicted, f.tried, f.harmful)
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
	flags, err := confirm.TestFlags(withoutFormat(f.rest))
	if err != nil {
		return misuse("%v", err)
	}
	f.origin.Source = confirm.Source{Verb: "test", Packages: packagesOf(predicted), Patterns: f.pkgs, Args: flags}
	if len(f.origin.Packages) == 0 {
		f.origin.Packages = f.args
	}
	if len(f.origin.Packages) == 0 {
		f.origin.Packages = []string{"."}
	}
	programs, remove, err := f.build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	f.newConfirmer()
	survey := &confirm.Survey{
		Predict: true, Known: predicted, Sections: f.overlaps.read, Walks: f.walks,
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

// packagesOf returns the tested packages of findings. It returns nothing if one of them is not known.
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

// withoutFormat leaves out the flags of go test that do not change what tests do.
func withoutFormat(flags []string) (rest []string) {
	for i := 0; i < len(flags); i++ {
		name, _, valued := strings.Cut(strings.TrimPrefix(strings.TrimLeft(flags[i], "-"), "test."), "=")
		switch {
		case flags[i] == "-args" || flags[i] == "--args":
			return append(rest, flags[i:]...)
		case name == "json":
		case name == "timeout":
			if !valued {
				i++
			}
		default:
			rest = append(rest, flags[i])
		}
	}
	return rest
}
