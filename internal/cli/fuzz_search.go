package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/recorder"
)

// behaviorOf is something that the executions of a program have done.
type behaviorOf struct {
	program  *confirm.Program
	behavior recorder.Behavior
}

// searchUnits searches the tests and programs under schedules that aim at no suspect.
// suspects were tried before.
func (f *fuzzRun) searchUnits(ctx context.Context, units []*confirm.Unit, suspects int) error {
	positions := map[*confirm.Unit]int{}
	f.mu.Lock()
	f.units = units
	for i, u := range units {
		positions[u] = suspects + i
	}
	f.mu.Unlock()
	search := confirm.Search{Confirmer: f.confirmer, Survey: f.surveys, OnTrial: func(u *confirm.Unit, s *confirm.Suspect, t *confirm.Trial) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.searched++
		for _, b := range t.Execution.Behaviors {
			f.behaviors[behaviorOf{u.Program, b}] = true
		}
		f.noteStopped(t)
		f.observed.Add(positions[u], s, t)
	}}
	start := time.Now()
	done := f.progressOf("searching", func() string { return f.searchStatus(time.Since(start)) }, time.Second)
	err := search.Run(ctx, units)
	done()
	results, skipped := confirm.Suspected(units)
	for _, why := range skipped {
		fmt.Fprintf(f.Err, "%s: %s\n", f.tool.Name, why)
	}
	f.mu.Lock()
	f.further = len(results)
	f.suspects += len(results)
	f.judged += len(results)
	f.mu.Unlock()
	for _, v := range results {
		f.reportSuspect(ctx, v)
	}
	for _, u := range units {
		f.unexplained = append(f.unexplained, u.Failures()...)
	}
	return err
}

// searchStatus describes the progress of the search.
func (f *fuzzRun) searchStatus(since time.Duration) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := max(min(f.parallel, len(f.units)), 1) // units at a time
	left := f.search*time.Duration((len(f.units)+at-1)/at) - since
	return fmt.Sprintf("%s of %s, %s, %s, at most %v left", plural.Of(f.searched, "execution"), f.whatIsSearched(),
		plural.Of(len(f.behaviors), "behavior"), plural.Of(f.found.count()+f.observed.Count(), "finding"), max(left, 0).Round(time.Second))
}

// searchSummary prints what was searched.
func (f *fuzzRun) searchSummary() {
	if len(f.units) == 0 {
		return
	}
	exhausted, enumerated, all := 0, 0, 0
	for _, u := range f.units {
		switch {
		case u.All > 0:
			enumerated++
			all += u.All
		case u.Exhausted:
			exhausted++
		}
	}
	fmt.Fprintf(f.Err, "%s: searched %s in %s", f.tool.Name, f.whatIsSearched(), plural.Of(f.searched, "execution"))
	switch {
	case enumerated == 0:
	case all == 1 && len(f.units) == 1:
		fmt.Fprint(f.Err, "; there is no other one")
	case enumerated == len(f.units):
		fmt.Fprintf(f.Err, "; all %d executions were tried", all)
	default:
		fmt.Fprintf(f.Err, "; all executions of %d of the tests were tried, %d together", enumerated, all)
	}
	switch exhausted {
	case 0:
	case len(f.units):
		fmt.Fprint(f.Err, "; more of them showed no new order of operations")
	default:
		fmt.Fprintf(f.Err, "; in %s more of them showed no new order of operations", plural.Of(exhausted, "test"))
	}
	fmt.Fprintln(f.Err)
}

// whatIsSearched names the units.
func (f *fuzzRun) whatIsSearched() string {
	switch {
	case f.origin.Source.Verb == "run":
		return "the program"
	}
	return plural.Of(len(f.units), "test")
}
