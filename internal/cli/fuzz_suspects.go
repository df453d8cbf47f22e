package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

// survey returns the suspects in the programs, the most promising ones first. It records failures of
// programs.
func (f *fuzzRun) survey(ctx context.Context, programs []*confirm.Program) (suspects []*confirm.Suspect, err error) {
	survey := &confirm.Survey{
		Races: true, Own: len(f.pkgs) == 0, Deadlocks: true, Sections: f.overlaps.read, Violations: len(f.overlaps.read) > 0,
		Predict: f.predict, Witnesses: f.searches() && !f.predict, Walks: f.walks,
		Limit: f.limit, Virtual: f.virtual, Procs: f.procs, Resolver: f.confirmer.Resolver,
		Budget: f.confirmer.Budget, Known: f.suspected,
	}
	f.surveys = survey
	if f.parts > 1 { // how long the runs take must not decide which suspects there are to share
		survey.Budget = nil
	}
	if f.strategy != "directed" {
		survey.Races, survey.Deadlocks, survey.Violations, survey.Predict = false, false, false, false
		survey.Walks = 0
	}
	surveyed := map[*confirm.Program][]*confirm.Trial{}
	err = f.runSurvey(ctx, survey, programs, func(p *confirm.Program, found []*confirm.Suspect, runs []*confirm.Trial) {
		switch f.strategy {
		case "walk":
			found = []*confirm.Suspect{confirm.AnyFailure(p, confirm.Walk)}
		case "pct":
			s := confirm.AnyFailure(p, confirm.Priorities)
			s.Length = runs[0].Execution.Steps
			found = []*confirm.Suspect{s}
		case "pos":
			found = []*confirm.Suspect{confirm.AnyFailure(p, confirm.Sampling)}
		}
		suspects = append(suspects, found...)
		surveyed[p] = runs
		if f.part == 1 {
			f.unexplained = append(f.unexplained, confirm.SurveyFailures(p, runs)...)
			f.observed.AddSurvey(p, runs)
		}
	})
	if f.strategy == "directed" {
		confirm.Promising(suspects, surveyed)
	}
	return suspects, err
}

// runSurvey surveys the programs and calls surveyed with the suspects and the runs of each.
func (f *fuzzRun) runSurvey(ctx context.Context, survey *confirm.Survey, programs []*confirm.Program, surveyed func(*confirm.Program, []*confirm.Suspect, []*confirm.Trial)) error {
	var looked atomic.Int32
	done := f.progressOf("looking for suspects", func() string {
		return "looking for suspects in " + plural.Part(int(looked.Load())+1, len(programs), "program")
	}, time.Second)
	defer done()
	for _, p := range programs {
		before := len(survey.Panics)
		found, skipped, runs, err := survey.Run(ctx, p)
		for _, failed := range survey.Panics[before:] {
			f.panics = errors.Join(f.panics, fmt.Errorf("%s: %w", p.Package, failed))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Package, err)
		}
		looked.Add(1)
		f.usual[p] = runs[0].Execution.Outcome
		for _, t := range runs {
			f.noteStopped(t)
		}
		for _, why := range skipped {
			fmt.Fprintf(f.Err, "%s: %s: %s\n", f.tool.Name, p.Package, why)
		}
		surveyed(p, found, runs)
	}
	return nil
}

// partOf returns the i-th of n parts, from 1.
func partOf[T any](all []T, i, n int) (mine []T) {
	for k, s := range all {
		if k%n == i-1 {
			mine = append(mine, s)
		}
	}
	return mine
}

// confirm tries the suspects.
func (f *fuzzRun) confirm(ctx context.Context, suspects []*confirm.Suspect) error {
	f.mu.Lock()
	f.suspects += len(suspects)
	for i, s := range suspects {
		f.positions[s] = i
		f.executions += int(f.confirmer.Executions(s))
	}
	f.started = time.Now()
	f.mu.Unlock()
	done := f.progressOf("trying suspects", f.status, time.Second)
	defer done()
	ready := make(chan *confirm.Result, len(suspects))
	f.confirmer.OnResult = func(v *confirm.Result) { ready <- v }
	f.confirmer.OnTrial = func(s *confirm.Suspect, t *confirm.Trial) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tried++
		f.noteStopped(t)
		f.observed.Add(f.positions[s], s, t)
	}
	reported := make(chan struct{})
	go func() { // report complete results while other suspects are tried
		defer close(reported)
		for v := range ready {
			f.addResult(ctx, v)
		}
	}()
	verdicts, err := f.confirmer.Run(ctx, suspects)
	close(ready)
	<-reported
	f.mentionGiven(verdicts)
	for _, v := range verdicts {
		if !v.Incomplete {
			continue
		}
		if v.Tried > 0 {
			f.interrupted++
		} else {
			f.untried++
		}
		f.addResult(ctx, v)
	}
	return err
}

// status describes the progress of the trials.
func (f *fuzzRun) status() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := fmt.Sprintf("%s tried, %d confirmed", plural.Part(f.judged, f.suspects, "suspect"), f.confirmed)
	if f.tried > 0 && f.tried < f.executions {
		left := time.Since(f.started) / time.Duration(f.tried) * time.Duration(f.executions-f.tried)
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return text
}

// addResult takes the result of a suspect that was tried by itself.
func (f *fuzzRun) addResult(ctx context.Context, v *confirm.Result) {
	f.mu.Lock()
	f.judged++
	f.executions -= int(f.confirmer.Executions(v.Suspect)) - v.Tried
	f.mu.Unlock()
	f.unexplained = append(f.unexplained, v.Failures(f.usual[v.Suspect.Program])...)
	f.reportSuspect(ctx, v)
}

// shown counts the suspects that no execution has confirmed that tried them, but that are a race that others have shown. It reports
// whether there is one.
func (f *fuzzRun) shown(p *confirm.Program, race *report.Finding) (some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = slices.DeleteFunc(f.open, func(v *confirm.Result) bool {
		is := v.Suspect.Program == p && v.Suspect.Is(race)
		if is {
			some = true
			f.confirmed++
			if race.Trials.Harmful {
				f.harmful++
			}
		}
		return is
	})
	return some
}

// reportSuspect reports a suspect, if it was confirmed or is reported in any case.
func (f *fuzzRun) reportSuspect(ctx context.Context, v *confirm.Result) {
	for _, e := range v.Endings {
		if e.Confirmed && v.Suspect.Finding.Kind != heisen.Failure {
			f.explained[v.Suspect.Program] = append(f.explained[v.Suspect.Program], e.Outcome)
		}
	}
	if v.Suspect.Finding.Kind == heisen.Failure {
		return
	}
	finding := v.Report(v.Suspect.Usual(f.usual[v.Suspect.Program])...)
	if v.Confirmed > 0 {
		follows := f.follows(ctx, v, &finding, true)
		if !follows {
			f.reproduce(ctx, v, &finding)
		}
		f.bugs = append(f.bugs, confirmedBug{v.Suspect.Program, finding})
		f.mu.Lock()
		f.confirmed++
		if finding.Trials.Harmful {
			f.harmful++
		}
		f.mu.Unlock()
		if follows {
			return
		}
	}
	if v.Confirmed == 0 {
		f.open = append(f.open, v)
	}
	if v.Confirmed == 0 && len(v.Endings) > 0 {
		finding.Unseen = v.Endings[0].Trial.Execution.Unseen.Reasons()
	}
	if v.Confirmed == 0 && v.Suspect.Predicted && !finding.Supposed() { // the prediction is reported nevertheless
		f.predicted++
	}
	wanted := v.Confirmed > 0 || v.Suspect.Predicted || f.unconfirmed
	if wanted || f.reports.includes(asJSON) {
		f.setQuiet(&finding, !wanted)
		f.found.add(finding)
		f.reported[v.Suspect.Finding.Fingerprint] = true
	}
}
