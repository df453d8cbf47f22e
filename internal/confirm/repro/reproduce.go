// Package repro repeats executions in which a bug has happened, to find out more about it: it shortens their schedules, selects the steps
// that explain the bug, and finds out whether the bug follows from another one, comes in every schedule, or is only an assumption about time
// or about what the program measures.
//
// Each answer costs from one to some dozen executions, or as many as the caller allows.
package repro

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

// Repeater repeats executions in which suspects have happened, and finds out more about these. One goroutine at a time may use it.
type Repeater struct{ *trials.Confirmer }

// Reproduction is an execution with a confirmed bug, and a schedule that repeats it.
type Reproduction struct {
	Ending   *trials.Ending
	Schedule *recorder.Schedule // of the execution
	Tests    string             // the tests that run, as in Suspect
	// Execution is the recorded execution of Schedule.
	Execution *controlled.Execution
	Steps     []report.Step // the part of it that explains the bug
	// Finding is the suspect's as it happened in Execution.
	Finding report.Finding
	// Replayed is set if repeating the schedule gave the same execution. Otherwise the schedule
	// is not shrunk.
	Replayed bool
	// Again is set if it was not, and one of a few repetitions has shown the bug nevertheless.
	Again bool
	// Chance is set for a failure, or a goroutine that waits for ever, that none of them has shown. It has come from
	// outside. There is no reason to think that the program is to blame: another program may have had the network
	// port that it wanted. Other bugs are ones whatever has led to them.
	Chance bool
	// Shrunk is set if Schedule was shrunk, in Attempts executions. Minimal is set if no choice of
	// it can be left out.
	Shrunk, Minimal bool
	Attempts        int
}

// Reproduce repeats the worst execution in which the suspect happened, shrinks its schedule in at
// most the given number of executions, while the Budget has time for that, and records the outcome.
func (c Repeater) Reproduce(ctx context.Context, v *trials.Result, attempts int) (*Reproduction, error) {
	if len(v.Endings) == 0 || !v.Endings[0].Confirmed {
		return nil, fmt.Errorf("%s was not confirmed", v.Finding.Fingerprint)
	}
	ending := v.Endings[0]
	schedule := c.ScheduleOf(v.Suspect, ending.Trial)
	shrink := c.newShrinking(v.Suspect)
	if err := shrink.shorten(ctx, &ending, &schedule); err != nil {
		return nil, err
	}
	schedule.Log = true
	tests := v.Concerns()
	proof := &Reproduction{Ending: &ending, Schedule: &schedule, Tests: v.Suspect.TestsOf(&schedule)}
	again, steps, err := c.record(ctx, v.Suspect, tests, proof.Schedule)
	if err != nil {
		return nil, err
	}
	proof.Execution, proof.Steps, proof.Finding = again, steps, v.Suspect.AsHappened(again)
	proof.Replayed = again.Hash == ending.Trial.Execution.Hash && ending.Repeats(v.Suspect, again)
	if !proof.Replayed {
		proof.Again, err = c.again(ctx, v.Suspect, &ending, again, proof.Schedule)
		kind := v.Suspect.Finding.Kind
		proof.Chance = err == nil && !proof.Again && (kind == heisen.Failure || observed.IsLeft(kind))
		return proof, err
	}
	if attempts == 0 || schedule.Strategy.Strategy == strategies.Follow { // such a schedule stops where no choice can be
		return proof, nil
	}
	long := proof.Schedule
	calm, found, tried, err := c.findCalm(ctx, shrink, &ending, attempts/4)
	if err != nil {
		return proof, err
	}
	if found != nil && len(found.Choices) < len(again.Choices) {
		again, long = found, calm
	}
	if again.Lost > 0 || len(again.Choices) > racefuzz.MaxChoices {
		return proof, nil
	}
	replaying := func(choices []strategies.Choice) *recorder.Schedule {
		schedule := *long
		schedule.Strategy = strategies.Config{Strategy: strategies.Replay, Seed: long.Strategy.Seed, Choices: choices}
		return &schedule
	}
	same := func(ctx context.Context, choices []racefuzz.Choice) (bool, error) {
		e, err := shrink.execute(ctx, replaying(controlled.CoreChoices(choices)))
		if err != nil {
			return false, err
		}
		return ending.Repeats(v.Suspect, e), nil
	}
	shrunk, err := racefuzz.Minimize(ctx, controlled.PublicChoices(again.Choices), same, racefuzz.WithAttempts(max(attempts-tried, 1)))
	if errors.Is(err, suspects.ErrNoTime) && shrunk.Attempts <= 1 { // not one execution was made
		return proof, nil
	}
	if err != nil && !errors.Is(err, suspects.ErrNoTime) {
		return proof, fmt.Errorf("shrink the schedule of %s: %w", v.Finding.Fingerprint, err)
	}
	small := replaying(controlled.CoreChoices(shrunk.Choices))
	last, steps, err := c.record(ctx, v.Suspect, tests, small)
	if err == nil && last.Diverged > 0 && last.Lost == 0 {
		// Some of the remaining choices depend on those left out and cannot be made. The choices
		// that were made give the same execution.
		small = replaying(last.Choices)
		last, steps, err = c.record(ctx, v.Suspect, tests, small)
	}
	if err != nil {
		return proof, err
	}
	if !ending.Repeats(v.Suspect, last) {
		return proof, nil
	}
	proof.Schedule, proof.Execution, proof.Steps, proof.Finding = small, last, steps, v.Suspect.AsHappened(last)
	proof.Shrunk, proof.Minimal, proof.Attempts = true, shrunk.Minimal, tried+shrunk.Attempts
	return proof, nil
}

// Show makes a finding say what the recorded execution shows: its accesses, goroutines, steps, and where goroutines
// are blocked.
func (r *Reproduction) Show(f *report.Finding) {
	shown := &r.Finding
	if f.Kind == heisen.Race && suspects.SamePair(f, shown) {
		if suspects.FirstIs(f, shown) == 1 { // the endings name the accesses by their indexes
			for i := range f.Trials.Endings {
				if e := &f.Trials.Endings[i]; e.First != nil {
					other := 1 - *e.First
					e.First = &other
				}
			}
		}
	}
	if f.Kind == shown.Kind && (f.Kind == heisen.Race || f.Kind == heisen.Leak) {
		f.Message = shown.Message
	}
	lead(f, shown)
	r.knowDeadlock(f)
	f.Accesses, f.Goroutines, f.Witness = shown.Accesses, shown.Goroutines, r.Steps
	AddBlocked(f, r.blockedFor(f))
}

// lead makes the pair of accesses that is shown the first one of a race on a variable, or the place that is shown that of a leak.
func lead(f, shown *report.Finding) {
	if shown.Pair == "" || shown.Fingerprint != f.Fingerprint || shown.Pair == f.Pair {
		return
	}
	before := report.Finding{Kind: f.Kind, Fingerprint: f.Fingerprint, Message: f.Message, Identity: f.Identity, Variable: f.Variable, Pair: f.Pair, Accesses: f.Accesses, Goroutines: f.Goroutines}
	f.Pairs = slices.DeleteFunc(slices.Clone(f.Pairs), func(p report.Pair) bool { return p.Fingerprint == shown.Pair })
	f.Pair, f.Variable = shown.Pair, shown.Variable
	f.AddPairs(&before)
}

// knowDeadlock makes a failure in which all goroutines are blocked, or a goroutine that waits for ever, the deadlock that it is, if goroutines
// wait in a circle for each other's locks. Otherwise the failure may be a leak because of which all others wait; then it has the fingerprint of
// that. It is known only from an execution whose locks were recorded.
func (r *Reproduction) knowDeadlock(f *report.Finding) {
	d := r.Execution.DeadlockOf(f)
	if root := r.Execution.Root; d == nil && root != nil && f.Kind == heisen.Failure && r.Execution.Outcome.Class == controlled.Deadlocked {
		f.Pair, f.Fingerprint, f.Identity = f.PairFingerprint(), root.Fingerprint, root.Identity
	}
	if d == nil {
		return
	}
	f.Detector, f.Kind, f.Fingerprint, f.Message, f.Cycle, f.Variable = controlled.DetectorName, d.Kind, d.Fingerprint, d.Message, d.Cycle, d.Variable
	f.Wait, f.Trials.Suspect, f.Trials.Harmful = nil, d.Fingerprint, true
	f.Identity, f.Pair, f.Pairs = "", "", nil
	r.Finding.Accesses, r.Finding.Goroutines = d.Accesses, d.Goroutines
}

// blockedFor returns the blocked goroutines that matter to a finding: of those that wait for ever in an execution that went on without
// them, only those of the tests that it is about.
func (r *Reproduction) blockedFor(f *report.Finding) []report.Blocked {
	tests := (&suspects.Suspect{Finding: report.Finding{Accesses: f.Accesses}}).Concerns()
	if r.Execution.Outcome.Class == controlled.TestFailed {
		tests = append(tests, controlled.TopLevel(r.Execution.Outcome.Message))
	}
	if r.Execution.Stuck != nil || len(tests) == 0 {
		return r.Execution.Blocked
	}
	return slices.DeleteFunc(slices.Clone(r.Execution.Blocked), func(b report.Blocked) bool {
		return b.Test != "" && !slices.Contains(tests, controlled.TopLevel(b.Test))
	})
}

// Outside returns what the execution and its repetition depended on besides the schedule, with places.
func (r *Reproduction) Outside() []string {
	all := slices.Concat(r.Ending.Trial.Execution.Outside, r.Execution.Outside)
	slices.Sort(all)
	return slices.Compact(all)
}

// repetitions is how often a schedule is repeated before a failure counts as chance.
const repetitions = 3

// again reports whether the suspect happens in one of a few repetitions of a schedule, of which first is one.
func (c Repeater) again(ctx context.Context, s *suspects.Suspect, ending *trials.Ending, first *controlled.Execution, schedule *recorder.Schedule) (bool, error) {
	for n := 1; !ending.Repeats(s, first); n++ {
		if n == repetitions {
			return false, nil
		}
		var err error
		if first, err = c.Repeat(ctx, s, schedule); err != nil {
			return false, err
		}
	}
	return true, nil
}

// shrinking makes the executions that shrink the schedule of a suspect, while there is time.
type shrinking struct {
	*trials.Confirmer
	suspect *suspects.Suspect
	left    time.Duration
	bounded bool
}

func (c Repeater) newShrinking(s *suspects.Suspect) *shrinking {
	left, bounded := c.Budget.Shrinking(s)
	return &shrinking{c.Confirmer, s, left, bounded}
}

// execute makes an execution. Its error is errNoTime if there is no time.
func (s *shrinking) execute(ctx context.Context, schedule *recorder.Schedule) (*controlled.Execution, error) {
	if s.bounded && s.left <= 0 {
		return nil, suspects.ErrNoTime
	}
	e, err := s.suspect.Program.Execute(ctx, s.Plan(s.suspect, schedule), s.Resolver)
	if err == nil {
		s.left -= e.Took
		s.Budget.Spend(s.suspect, e.Took)
	}
	return e, err
}

// shorten makes the schedule of an execution that was stopped end at the same step. Then it halves the
// number of steps, as often as the suspect still happens. There is always time for that: the executions take
// less time together than the one of which the recording gets shorter.
func (s *shrinking) shorten(ctx context.Context, ending *trials.Ending, schedule *recorder.Schedule) error {
	if stuck := ending.Trial.Execution.Stuck; stuck == nil || stuck.Why != recorder.OutOfSteps {
		return nil
	}
	schedule.MaxSteps = ending.Trial.Execution.Steps
	always := *s
	always.bounded = false
	for schedule.MaxSteps > 1 {
		half := *schedule
		half.MaxSteps /= 2
		e, err := always.execute(ctx, &half)
		if err != nil {
			return err
		}
		if !ending.Repeats(s.suspect, e) {
			return nil
		}
		shorter := *ending.Trial
		shorter.Execution = e
		ending.Trial, *schedule = &shorter, half
	}
	return nil
}

// findCalm looks for an execution with the same ending whose choices are the default ones except
// where a goroutine is postponed, and returns its schedule. It has fewer deviations to shrink. It tries
// the given number of seeds, from that of the ending on.
func (c Repeater) findCalm(ctx context.Context, shrink *shrinking, ending *trials.Ending, seeds int) (calm *recorder.Schedule, found *controlled.Execution, tried int, err error) {
	s := shrink.suspect
	switch s.Strategy {
	case strategies.RaceDirected, strategies.DeadlockDirected, strategies.SectionDirected:
	default:
		return nil, nil, 0, nil
	}
	for ; tried < seeds; tried++ {
		calm = c.DirectedSchedule(s, ending.Trial.Seed+uint64(tried))
		calm.Strategy.ByDefault, calm.Log = true, true
		e, err := shrink.execute(ctx, calm)
		if errors.Is(err, suspects.ErrNoTime) {
			return nil, nil, tried, nil
		}
		if err != nil {
			return nil, nil, tried, err
		}
		if e.Lost == 0 && ending.Repeats(s, e) {
			return calm, e, tried + 1, nil
		}
	}
	return nil, nil, tried, nil
}

// record executes a suspect's program with everything recorded, in a process of its own. tests are those that the bug is about.
func (c Repeater) record(ctx context.Context, s *suspects.Suspect, tests []string, schedule *recorder.Schedule) (*controlled.Execution, []report.Step, error) {
	var story *explanation
	plan := c.Plan(s, schedule)
	plan.Mode, plan.Process = recorder.Everything, controlled.Afresh
	plan.Detect = func(symbols *heisen.Symbols) ([]heisen.Detector, error) {
		story = newExplanation(symbols, c.Resolver.Toolchain, s, tests)
		return []heisen.Detector{observed.Handler(story.handle)}, nil
	}
	plan.OnMeeting = func(recorder.Meeting) {
		if !s.Observed {
			story.meeting()
		}
	}
	plan.OnRace = func(f *heisen.Finding, symbols *heisen.Symbols) {
		if s.Observed && c.Resolver.Resolve(*f, symbols).Fingerprint == s.Finding.Fingerprint {
			story.meeting()
		}
	}
	plan.Finish = func(e *controlled.Execution, _ *heisen.Symbols) {
		story.steps = story.words(c.Resolver, e.AwaitedLocks())
	}
	e, err := s.Program.Execute(ctx, plan, c.Resolver)
	if err != nil {
		return nil, nil, err
	}
	if story == nil {
		return e, nil, nil
	}
	return e, story.steps, nil
}

// AddBlocked adds the blocked goroutines to a finding. In a deadlock it replaces
// the accesses, which are those of the execution in which the deadlock was suspected, by the
// operations at which the goroutines are blocked.
func AddBlocked(f *report.Finding, blocked []report.Blocked) {
	if observed.IsLeft(f.Kind) {
		return // it has those that matter
	}
	f.Blocked = blocked
	if f.Kind != heisen.Deadlock || len(f.Accesses) < 2 {
		return
	}
	inCircle := circle(f.Accesses, blocked)
	if inCircle == nil {
		return
	}
	accesses := slices.Clone(f.Accesses)
	for i := range accesses {
		a, b := &accesses[i], inCircle[i]
		a.Thread, a.Goroutine, a.Test, a.Labels, a.Object, a.Stack, a.Locks = b.Thread, b.Goroutine, b.Test, b.Labels, b.Object, b.Stack, b.Locks
		if b.Variable != "" {
			a.Variable, a.Alternatives = b.Variable, nil
		}
	}
	if len(f.Cycle) == len(accesses)+1 {
		f.Cycle = lockNames(accesses)
	}
	f.Accesses, f.Goroutines = accesses, nil // the creators of these goroutines are not known
}

// lockNames returns the Cycle of a deadlock: what the goroutine of each access wants, behind what that of the last one wants. A name has an
// address if it is that of another lock, too.
func lockNames(accesses []report.Access) (cycle []string) {
	objects := map[string]map[string]bool{} // by name
	add := func(name, object string) {
		if objects[name] == nil {
			objects[name] = map[string]bool{}
		}
		objects[name][object] = true
	}
	for i := range accesses {
		add(accesses[i].Variable, accesses[i].Object)
		for _, l := range accesses[i].Locks {
			add(l.Variable, l.Lock)
		}
	}
	for i := range accesses {
		a := &accesses[(i+len(accesses)-1)%len(accesses)]
		name := a.Variable
		if name == "" || len(objects[name]) > 1 {
			name = strings.TrimSpace(a.Expression() + " " + a.Object)
		}
		cycle = append(cycle, name)
	}
	return append(cycle, cycle[0])
}

// circle returns which goroutine is blocked at each access of a deadlock, nil if that is not known. Of several at one place it is one that
// holds what the goroutine before it wants, if there is one.
func circle(accesses []report.Access, blocked []report.Blocked) (all []*report.Blocked) {
	for i := range accesses {
		var found *report.Blocked
		for j := range blocked {
			b := &blocked[j]
			if slices.Contains(all, b) || !suspects.SamePlace(&accesses[i], &report.Access{Stack: b.Stack}) {
				continue
			}
			holds := i > 0 && slices.ContainsFunc(b.Locks, func(l report.Lock) bool { return l.Lock == all[i-1].Object })
			if found == nil || holds {
				found = b
			}
			if holds {
				break
			}
		}
		if found == nil {
			return nil
		}
		all = append(all, found)
	}
	return all
}
