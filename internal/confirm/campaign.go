// Package confirm makes suspected bugs happen. It is what heisen fuzz does with the programs that it has built.
//
// A Campaign owns the stages, from a Config to findings with schedules: a survey collects suspects (suspects.Survey hands over
// suspects.Surveyed), these are tried (a trials.Result for each), the tests are searched (search.Searched), and what happened is repeated and
// shortened (a repro.Reproduction) and reported to a Listener, with the Statistics of the campaign.
//
// The strategy for races is the race-directed scheduler of Sen, Race Directed Random Testing of
// Concurrent Programs (PLDI 2008), algorithm 1: it postpones a goroutine at a suspected place until
// another one comes to the other place with the same memory, and then picks one of the two at
// random. Deadlocks and sections have strategies of the same kind. Package internal/core/strategies
// implements them in the program, and docs/design/confirmation.md explains the choices.
//
// A confirmed bug has really happened, so there are no false alarms. A suspect that is not
// confirmed may still be a bug. With the same seeds the results do not depend on how many
// executions run at a time, unless the program depends on the network or other input, which the
// results list.
package confirm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/repro"
	"github.com/heisen-go/heisen/internal/confirm/search"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/readuse"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
)

// Config says what a campaign does.
type Config struct {
	trials.Confirmer // its seeds, limits and Resolver; the campaign sets the rest

	Programs []*controlled.Program
	Chosen   func(pkg, test string) bool // see controlled.Units
	Origin   controlled.Origin           // of the programs, for their schedules

	// Time is what each unit has for everything; with 0 all suspects are tried with all seeds, and nothing is searched.
	// Bounded is set if it bounds how often suspects are tried, too. Within bounds the time of all units together instead, in real
	// time; with 0 it does not.
	Time        time.Duration
	Bounded     bool
	Within      time.Duration
	Part, Parts int // only part Part of Parts is tried, from 1, of the suspects and of the search; see shared
	Quota       int // executions of the search of a unit at most, for each of the parts; 0 if only the time bounds them
	// Any is set if nothing is suspected, and the seeds try Strategy.
	Any      bool
	Strategy strategies.Strategy

	// As in Survey.
	Own, Predict bool
	Causality    suspects.Causality
	Lines        *readuse.Lines
	Sections     []section.Section
	Known        []report.Finding
	Certain      bool // these need no confirmation
	Walks        uint64

	Minimize    int  // shrink a schedule in at most so many executions
	Unconfirmed bool // report suspects that were not confirmed, too, and failures that did not happen again
	Quiet       bool // report these suspects in any case; see Listener.Add
	Timing      bool // report failures that may only be assumptions

	Memory      *Memory // nil if nothing is remembered
	Folder      string  // where schedules are written
	Unversioned bool    // git is to ignore the folder, if it is made
	Replay      string  // the command that repeats a schedule, up to its file
}

// Stage is what a campaign does at a time.
type Stage string

const (
	Repeating Stage = "repeating what is known"
	Surveying Stage = "looking for suspects"
	Trying    Stage = "trying suspects"
	Searching Stage = "searching"
)

// Listener learns what a campaign does and finds. Its methods are called by one goroutine at a time, but for Add and Say,
// which are also called while a stage lasts.
type Listener interface {
	// Enter is called when a stage begins, and what it returns when the stage ends.
	Enter(Stage) (leave func())
	// Say takes a sentence that is no finding.
	Say(text string)
	// Add takes a finding. It is quiet if it is a suspect that was not confirmed, and is no news for people.
	Add(f report.Finding, quiet bool)
	// Follow adds a race to the findings with the fingerprint of one from which it follows, and reports whether there are any.
	Follow(root string, race report.Following) bool
	// LastMoment returns a context for what is still worth doing once ctx has ended.
	LastMoment(ctx context.Context) (context.Context, context.CancelFunc)
}

// Campaign makes the bugs of programs happen, in stages: a survey collects suspects, these are tried, the units are searched, and
// what the executions have shown is reported, with schedules that repeat it. A Campaign is used once.
type Campaign struct {
	Config
	listener Listener
	survey   *suspects.Survey
	repeater repro.Repeater
	panics   error
	memory   remembering
	reporting

	mu        sync.Mutex // guards the rest
	numbers   Statistics
	observed  trials.Observations
	behaviors map[behaviorOf]bool // in the search
}

// behaviorOf is something that the executions of a program have done.
type behaviorOf struct {
	program  *controlled.Program
	behavior recorder.Behavior
}

// Statistics are the numbers of a campaign so far.
type Statistics struct {
	Surveyed   int      // programs
	Unsurveyed []string // packages of the programs for which there was no time

	Suspects, Judged, Confirmed, Harmful int
	Followed                             int // of the confirmed ones, those that belong to the findings of others
	Further                              int // of the suspects, those that the search has found
	Untried, Interrupted                 int // suspects for which there was no time, or not enough
	Predicted                            int // predicted suspects that were not confirmed
	Planned, Tried                       int // executions that try suspects

	Units     []*controlled.Unit // what is searched
	Searched  int                // executions of the search
	Behaviors int                // what they have done
	Observed  int                // bugs that executions have shown by themselves
	Coverage  controlled.Coverage

	Failures int // failures and observed bugs that were reported
	Anyway   int // failures that come in every schedule

	Corpus     string // the hash of what earlier campaigns have found out; empty if nothing is remembered
	Work       string // equal if a campaign, or a part of it, has tried the same
	Run        uint64 // the number of the campaign among those that came one after the other
	Remembered int    // findings of earlier campaigns
	Repeated   int    // executions that have repeated their schedules
	Gone       int    // those that this campaign has not found, though it has looked

	Stopped  int             // executions that reached a limit
	Late     int             // executions that took too much of the time
	Unlooked int             // executions of which goroutines that wait for ever may not have been found
	Unseen   recorder.Unseen // what synchronizes in programs besides

	// Processes are sentences about the processes in which the executions of programs were made.
	Processes []string

	Began time.Time // the stage
}

// New returns a campaign.
func New(c Config, l Listener) *Campaign {
	made := &Campaign{Config: c, listener: l, reporting: newReporting(), behaviors: map[behaviorOf]bool{}}
	made.repeater = repro.Repeater{Confirmer: &made.Confirmer}
	return made
}

// Statistics returns the numbers so far. Other goroutines may call it while the campaign runs.
func (c *Campaign) Statistics() Statistics {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.numbers
	now.Behaviors, now.Observed = len(c.behaviors), c.observed.Count()
	return now
}

// Panics returns those of detectors. There may be more suspects then.
func (c *Campaign) Panics() error { return c.panics }

// count changes the numbers.
func (c *Campaign) count(change func(*Statistics)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.numbers)
}

// enter begins a stage.
func (c *Campaign) enter(s Stage, change func(*Statistics)) (leave func()) {
	c.count(func(n *Statistics) {
		n.Began = time.Now()
		change(n)
	})
	return c.listener.Enter(s)
}

func (c *Campaign) say(format string, args ...any) { c.listener.Say(fmt.Sprintf(format, args...)) }

// sayFailed says why something could not be found out, unless ctx has ended. It reports whether that is so.
func (c *Campaign) sayFailed(ctx context.Context, err error) (failed bool) {
	if err != nil && ctx.Err() == nil {
		c.say("%v", err)
	}
	return err != nil
}

// searches reports whether there is a time to spend, and a search.
func (c *Campaign) searches() bool { return c.Time > 0 && !c.Any }

// Run makes the campaign. If ctx ends or an execution fails for a reason outside of the program, it still reports what was found,
// and returns the error.
func (c *Campaign) Run(ctx context.Context) error {
	var units []*controlled.Unit
	if !c.Any {
		units = controlled.Units(ctx, c.Programs, c.Chosen)
	}
	switch {
	case c.Within > 0:
		c.Time = c.Within
		c.Budget = suspects.NewBudgetWithin(c.Within, c.Parallel, units)
	case c.searches():
		c.Budget = suspects.NewBudget(c.Time, c.Parallel, units, c.Bounded)
	}
	c.survey = c.newSurvey()
	err := c.recall(ctx)
	if err != nil {
		c.conclude(false)
		return err
	}
	found, err := c.look(ctx)
	all := c.suspects(found)
	err = errors.Join(err, c.try(ctx, partOf(all, c.Part, c.Parts)))
	if err == nil && c.searches() {
		if c.Within > 0 {
			units = promising(units, all)
		}
		err = c.search(ctx, c.shared(units), len(all))
	}
	c.reportObserved(ctx)
	c.reportFollowing(ctx)
	c.reportUnexplained(ctx)
	c.conclude(err == nil && ctx.Err() == nil)
	c.flaky = c.findFlaky(ctx)
	c.count(func(n *Statistics) {
		n.Coverage = controlled.CoverageOf(c.Programs)
		for _, p := range c.Programs {
			if how := p.Processes(); how != "" {
				n.Processes = append(n.Processes, p.Package+": "+how)
			}
		}
	})
	return err
}

// Confirm tries what package mcm has predicted from other runs. It makes a survey, because only then are the positions of all
// operations known, and tries what mcm predicts from that, and the findings that it does not predict again.
func (c *Campaign) Confirm(ctx context.Context, predicted []report.Finding) error {
	c.survey = &suspects.Survey{
		Predict: true, Causality: c.Causality, Lines: c.Lines, Known: predicted, Sections: c.Sections, Walks: c.Walks, QuickWalks: 12,
		Limit: c.Limit, Virtual: c.Virtual, Procs: c.Procs, Resolver: c.Resolver,
	}
	found, err := c.look(ctx)
	if err != nil {
		return err
	}
	var all []*suspects.Suspect
	for _, of := range found {
		all = append(all, of.Suspects...)
	}
	return c.try(ctx, all)
}

// newSurvey returns the survey of Run.
func (c *Campaign) newSurvey() *suspects.Survey {
	s := &suspects.Survey{
		Own: c.Own, Sections: c.Sections, Known: c.Known,
		Limit: c.Limit, Virtual: c.Virtual, Procs: c.Procs, Resolver: c.Resolver, Budget: c.Budget,
	}
	if c.Parts > 1 { // how long the runs take must not decide which suspects there are to share
		s.Budget = nil
	}
	if !c.Any {
		s.Races, s.Deadlocks, s.Violations, s.Predict = true, true, len(c.Sections) > 0, c.Predict
		s.Witnesses, s.Walks = c.searches() && !c.Predict, c.Walks
		if c.Predict {
			s.Causality, s.Lines = c.Causality, c.Lines
		}
	}
	return s
}

// look is the first stage. It surveys the programs, in their order, up to the first one for which that fails.
func (c *Campaign) look(ctx context.Context) (found []*suspects.Surveyed, err error) {
	defer c.enter(Surveying, func(*Statistics) {})()
	for i, p := range c.Programs {
		if i > 0 && c.Budget.SurveyEnded() {
			c.count(func(n *Statistics) { n.Unsurveyed = append(n.Unsurveyed, p.Package) })
			continue
		}
		before := len(c.survey.Panics)
		of, err := c.survey.Run(ctx, p)
		for _, failed := range c.survey.Panics[before:] {
			c.panics = errors.Join(c.panics, fmt.Errorf("%s: %w", p.Package, failed))
		}
		if err != nil {
			return found, fmt.Errorf("%s: %w", p.Package, err)
		}
		p.Surveyed = true
		c.count(func(n *Statistics) {
			n.Surveyed++
			for _, t := range of.Runs {
				n.noteStopped(t.Execution, c.Limit)
			}
		})
		for _, why := range of.Skipped {
			c.say("%s: %s", p.Package, why)
		}
		found = append(found, of)
	}
	return found, nil
}

// suspects returns the suspects of all parts, the most promising ones first, and takes the failures and bugs of the runs.
func (c *Campaign) suspects(found []*suspects.Surveyed) (all []*suspects.Suspect) {
	runs := map[*controlled.Program][]*suspects.Run{}
	for _, of := range found {
		if c.Any {
			s := suspects.AnyFailure(of.Program, c.Strategy)
			s.Length = of.Runs[0].Execution.Steps
			of.Suspects = []*suspects.Suspect{s}
		}
		all = append(all, of.Suspects...)
		runs[of.Program] = of.Runs
		if c.Part == 1 {
			c.unexplained = append(c.unexplained, trials.SurveyFailures(of.Program, of.Runs)...)
			c.observed.AddSurvey(of.Program, of.Runs)
		}
	}
	if !c.Any {
		suspects.Promising(all, runs)
	}
	suspects.AddSuspects(all)
	return all
}

// promising returns the units of programs that were surveyed, those with suspects first.
func promising(units []*controlled.Unit, all []*suspects.Suspect) (sorted []*controlled.Unit) {
	with := map[*controlled.Unit]bool{}
	for _, s := range all {
		for _, u := range s.Units() {
			with[u] = true
		}
	}
	for _, u := range units {
		if u.Program.Surveyed {
			sorted = append(sorted, u)
		}
	}
	slices.SortStableFunc(sorted, func(a, b *controlled.Unit) int { return suspects.BoolOrder(with[b]) - suspects.BoolOrder(with[a]) })
	return sorted
}

// try is the second stage: it tries suspects, and reports each as soon as it is judged.
func (c *Campaign) try(ctx context.Context, all []*suspects.Suspect) error {
	positions := map[*suspects.Suspect]int{} // in the order in which they are tried
	defer c.enter(Trying, func(n *Statistics) {
		n.Suspects += len(all)
		for i, s := range all {
			positions[s] = i
			n.Planned += int(c.Executions(s))
		}
	})()
	ready := make(chan *trials.Result, len(all))
	c.OnResult = func(v *trials.Result) { ready <- v }
	c.OnTrial = func(s *suspects.Suspect, t *trials.Trial) {
		c.count(func(n *Statistics) {
			n.Tried++
			n.noteStopped(t.Execution, c.Limit)
			c.observed.Add(positions[s], s, t)
		})
	}
	reported := make(chan struct{})
	go func() { // report complete results while other suspects are tried
		defer close(reported)
		for v := range ready {
			c.take(ctx, v)
		}
	}()
	results, err := c.Confirmer.Run(ctx, all)
	close(ready)
	<-reported
	if !c.Certain {
		c.mentionKnown(results)
	}
	for _, v := range results {
		if !v.Incomplete {
			continue
		}
		c.count(func(n *Statistics) {
			if v.Tried > 0 {
				n.Interrupted++
			} else {
				n.Untried++
			}
		})
		c.take(ctx, v)
	}
	return err
}

// take takes the result of a suspect that was tried by itself.
func (c *Campaign) take(ctx context.Context, v *trials.Result) {
	c.count(func(n *Statistics) {
		n.Judged++
		n.Planned -= int(c.Executions(v.Suspect)) - v.Tried
	})
	c.unexplained = append(c.unexplained, v.Failures(v.Suspect.Program.Usual)...)
	c.reportSuspect(ctx, v)
}

// search is the third stage: it searches units under schedules that aim at no suspect. tried is the number of suspects that come before.
func (c *Campaign) search(ctx context.Context, units []*controlled.Unit, tried int) error {
	positions := map[*controlled.Unit]int{}
	leave := c.enter(Searching, func(n *Statistics) {
		n.Units = units
		for i, u := range units {
			positions[u] = tried + i
		}
	})
	searching := search.Search{Confirmer: &c.Confirmer, Survey: c.survey, OnTrial: func(u *controlled.Unit, s *suspects.Suspect, t *trials.Trial) {
		c.count(func(n *Statistics) {
			n.Searched++
			for _, b := range t.Execution.Behaviors {
				c.behaviors[behaviorOf{u.Program, b}] = true
			}
			n.noteStopped(t.Execution, c.Limit)
			c.observed.Add(positions[u], s, t)
		})
	}}
	found, err := searching.Run(ctx, units)
	leave()
	for _, why := range found.Skipped {
		c.say("%s", why)
	}
	c.count(func(n *Statistics) {
		n.Further = len(found.Suspects)
		n.Suspects += n.Further
		n.Judged += n.Further
	})
	for _, v := range found.Suspects {
		c.reportSuspect(ctx, v)
	}
	c.unexplained = append(c.unexplained, found.Failures...)
	return err
}

// noteStopped counts an execution that was stopped at a limit, or because there was no time left. That
// is no bug. It also notes what may have synchronized unseen.
func (n *Statistics) noteStopped(e *controlled.Execution, limit time.Duration) {
	if e.Unseen.Any() {
		n.Unseen = e.Unseen
	}
	if e.LookFailed {
		n.Unlooked++
	}
	switch {
	case e.Outcome.Class != controlled.Hung:
	case (e.Stuck == nil || e.Stuck.Why == recorder.OutOfSteps) && e.Took < limit:
		n.Late++
	default:
		n.Stopped++
	}
}
