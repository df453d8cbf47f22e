package confirm

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/repro"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/report"
)

// reporting has what the reports of a campaign need to know of the findings so far.
type reporting struct {
	unexplained []*trials.Result                       // failures of programs without the suspected bug
	explained   map[*controlled.Program][]*explanation // outcomes of which something is reported or said
	raced       []raced
	bugs        []*trials.Result // confirmed suspects, with the findings that were reported
	behind      []*trials.Result // deadlocks that goroutines behind them have shown
	open        []*trials.Result // suspects that were tried and not confirmed
	following   []followingRace
	told        map[string]told                // races by the fingerprints of their pairs
	races       []*trials.Result               // that have happened, with the findings that were reported
	lateUse     map[*controlled.Program]string // the fingerprint of a finding that a test was used after its end
	assumed     []assumed
	flaky       []Flaky
}

func newReporting() reporting {
	return reporting{explained: map[*controlled.Program][]*explanation{}, told: map[string]told{}, lateUse: map[*controlled.Program]string{}}
}

// reportSuspect reports a suspect, if it was confirmed or is reported in any case.
func (c *Campaign) reportSuspect(ctx context.Context, v *trials.Result) {
	p := v.Suspect.Program
	if v.Suspect.Finding.Kind == heisen.Failure {
		return
	}
	for _, e := range v.Endings {
		switch {
		case !e.Confirmed:
		case v.Finding.Kind == heisen.Race && e.Outcome.Class == controlled.TestFailed:
			c.raced = append(c.raced, raced{p, v.Finding.Fingerprint, e.Outcome})
		default:
			c.explain(p, v.Finding.Fingerprint, e.Outcome)
		}
	}
	finding := v.Report(v.Suspect.Usual()...)
	if v.Confirmed > 0 {
		told := c.isTold(&finding) || c.isRepeated(&finding)
		follows := c.follows(ctx, v, &finding, true)
		if !follows && !told {
			c.reproduce(ctx, v, &finding)
		}
		bug := &trials.Result{Suspect: v.Suspect, Finding: finding}
		c.bugs = append(c.bugs, bug)
		c.count(func(n *Statistics) { n.confirm(&finding) })
		if follows {
			return
		}
		c.races = append(c.races, bug)
	} else {
		c.open = append(c.open, v)
		if len(v.Endings) > 0 {
			finding.Unseen = v.Endings[0].Trial.Execution.Unseen.Reasons()
		}
		if v.Suspect.Predicted { // it is reported nevertheless, as a suspicion
			c.count(func(n *Statistics) { n.Predicted++ })
		}
	}
	if wanted := v.Confirmed > 0 || v.Suspect.Predicted || c.Unconfirmed; wanted || c.Quiet {
		c.add(finding, !wanted)
	}
}

// raced is the failure of a test in executions that a race was confirmed in. The race explains it, unless all executions together say that it
// is another bug.
type raced struct {
	program *controlled.Program
	race    string // its fingerprint
	failure controlled.Outcome
}

// told is a race that was reported.
type told struct {
	bug     string // the fingerprint of the finding
	harmful bool
}

// isTold reports whether the variable of a race has a finding that is worth as much as its own would be.
func (c *Campaign) isTold(race *report.Finding) bool {
	for _, one := range c.told {
		if one.bug == race.Fingerprint && (one.harmful || !race.Trials.Harmful) {
			return true
		}
	}
	return false
}

// confirm counts a confirmed suspect.
func (n *Statistics) confirm(f *report.Finding) {
	n.Confirmed++
	if f.Trials.Harmful {
		n.Harmful++
	}
}

// mentionKnown says which of the known findings were not confirmed.
func (c *Campaign) mentionKnown(results []*trials.Result) {
	for i := range c.Known {
		g := &c.Known[i]
		executions, confirmed := 0, false
		for _, v := range results {
			if v.Suspect.Finding.PairFingerprint() == g.PairFingerprint() {
				executions, confirmed = executions+v.Tried, confirmed || v.Confirmed > 0
			}
		}
		if !confirmed {
			var places []string
			for j := range g.Accesses {
				places = append(places, g.Accesses[j].Site)
			}
			c.say("not confirmed in %s: %s", plural.Of(executions, "execution"), strings.Join(places, ", "))
		}
	}
}

// reportObserved reports what executions have shown by themselves, unless a confirmed suspect is the same bug.
func (c *Campaign) reportObserved(ctx context.Context) {
	for _, v := range c.observed.Results(func(p *controlled.Program, seen *report.Finding) bool {
		at := c.bugLike(p, seen)
		if at >= 0 && seen.Fingerprint == c.bugs[at].Finding.Fingerprint && seen.Identity != "" {
			c.addPairs(c.bugs[at].Finding, seen)
		}
		return at < 0
	}) {
		if c.bugLike(v.Suspect.Program, &v.Finding) < 0 { // a deadlock may have come before its goroutines
			c.reportBug(ctx, v)
		}
	}
	for _, f := range c.behind {
		c.reportBehind(f)
	}
}

// bugLike returns the index of the reported bug that one that was observed belongs to; negative if there is none.
func (c *Campaign) bugLike(p *controlled.Program, seen *report.Finding) int {
	return slices.IndexFunc(c.bugs, func(v *trials.Result) bool { return v.Suspect.Program == p && trials.SameBug(&v.Finding, seen) })
}

// isDeadlock takes the finding of a goroutine that was seen to wait for ever, if it turns out to be a deadlock. All goroutines of a deadlock wait
// in the executions with it, which count once: those of the first one count. A goroutine behind the deadlock may wait in fewer of them, and so
// its finding is put off until the others are reported.
func (c *Campaign) isDeadlock(v *trials.Result, f *report.Finding) (later bool) {
	if v.Finding.Kind != heisen.Leak || f.Kind != heisen.Deadlock {
		return false
	}
	bug := &trials.Result{Suspect: v.Suspect, Finding: *f}
	if later = !trials.SameBug(f, &v.Finding); later {
		c.behind = append(c.behind, bug)
	} else {
		c.bugs = append(c.bugs, bug)
	}
	return later
}

// reportBehind reports a deadlock that only a goroutine behind it has shown, unless it is reported.
func (c *Campaign) reportBehind(v *trials.Result) {
	if slices.ContainsFunc(c.bugs, func(bug *trials.Result) bool {
		return bug.Suspect.Program == v.Suspect.Program && bug.Finding.Fingerprint == v.Finding.Fingerprint
	}) {
		return
	}
	c.bugs = append(c.bugs, v)
	c.add(v.Finding, false)
	c.count(func(n *Statistics) { n.Failures++ })
}

// addPairs reports the pairs of accesses of a race that were observed beside the one that was confirmed.
func (c *Campaign) addPairs(confirmed report.Finding, seen *report.Finding) {
	if _, told := c.told[confirmed.PairFingerprint()]; !told {
		return
	}
	for _, one := range seen.EachPair() {
		if !confirmed.HasPair(one.PairFingerprint()) {
			one.Detector, one.Count, one.Trials = confirmed.Detector, 0, nil // the executions are counted already
			c.add(one, false)
		}
	}
}

// reportBug reports a bug that was observed.
func (c *Campaign) reportBug(ctx context.Context, v *trials.Result) {
	p, usual, late := v.Suspect.Program, v.Suspect.Usual(), observed.IsLateUse(&v.Finding)
	if late { // panics because of it are harm in any case, and need no report of their own
		usual, c.lateUse[p] = nil, v.Finding.Fingerprint
	}
	if v.Timing && !c.Timing { // the failure is mentioned
		if late {
			c.assume(p, "timing", "the test may end before the call", fmt.Sprintf("%s, at %s", v.Finding.Message, v.Finding.Accesses[0].Site))
		}
		return
	}
	finding := v.Report(usual...)
	c.asBefore(&finding)
	c.explain(p, finding.Fingerprint, v.Explains...)
	if c.isRepeated(&finding) {
		c.shown(p, &finding)
		c.add(finding, false)
		return
	}
	if c.follows(ctx, v, &finding, c.shown(p, &finding)) {
		return
	}
	c.races = append(c.races, &trials.Result{Suspect: v.Suspect, Finding: finding})
	c.reportFailure(ctx, v, finding, fmt.Sprintf("%s (%s)", finding.Message, finding.Accesses[0].Site))
}

// shown counts the suspects that no execution has confirmed that tried them, but that are a race that others have shown. It reports
// whether there is one.
func (c *Campaign) shown(p *controlled.Program, race *report.Finding) (some bool) {
	c.open = slices.DeleteFunc(c.open, func(v *trials.Result) bool {
		is := v.Suspect.Program == p && v.Suspect.Is(race)
		if is {
			some = true
			c.count(func(n *Statistics) { n.confirm(race) })
		}
		return is
	})
	return some
}

// reportUnexplained reports the failures of programs that no confirmed bug explains, each once. Those
// that may only show an assumption, about time or the runtime, come last, and are mentioned unless they are
// to be reported. Of the executions that failed in the same way, one counts that cannot be due to what it measured, if
// there is one.
func (c *Campaign) reportUnexplained(ctx context.Context) {
	c.reportFailures(ctx)
	c.mentionAssumptions()
}

func (c *Campaign) reportFailures(ctx context.Context) {
	slices.SortStableFunc(c.unexplained, func(a, b *trials.Result) int {
		return cmp.Or(suspects.BoolOrder(a.Timing)-suspects.BoolOrder(b.Timing), suspects.BoolOrder(a.MayBeMeasured())-suspects.BoolOrder(b.MayBeMeasured()))
	})
	for _, v := range c.unexplained {
		p, outcome := v.Suspect.Program, v.Endings[0].Outcome
		if c.isExplained(v) {
			continue
		}
		if use := c.lateUse[p]; use != "" && controlled.OfLateUse(outcome) {
			c.explain(p, use, outcome)
			continue
		}
		why := &explanation{outcome: outcome}
		c.explained[p] = append(c.explained[p], why)
		if !c.Timing {
			if kind, because := c.assumption(ctx, v); kind != "" {
				c.assume(p, kind, because, outcome.String())
				why.cause = "a " + kind + " assumption: " + because
				continue
			}
		}
		if c.memory.current == nil && !(c.Timing && v.Timing) {
			always, err := c.repeater.Always(ctx, v) // as without heisen
			if !c.sayFailed(ctx, err) && always {
				c.say("%s: %s", p.Package, v.Endings[0].Trial.Execution.What())
				c.count(func(n *Statistics) { n.Anyway++ })
				continue
			}
		}
		finding := v.Report()
		c.joinRace(v, &finding)
		why.failure = finding.Identity == ""
		why.finding, why.cause = c.reportFailure(ctx, v, finding, "an execution failed ("+outcome.String()+")")
	}
}

// isExplained reports whether a reported bug explains a failure.
func (c *Campaign) isExplained(v *trials.Result) bool {
	p, outcome := v.Suspect.Program, v.Endings[0].Outcome
	return slices.ContainsFunc(c.explained[p], func(why *explanation) bool { return why.outcome.Same(outcome) }) ||
		slices.ContainsFunc(c.raced, func(r raced) bool {
			return r.program == p && r.failure.Same(outcome) && !c.observed.Independent(p, r.race, outcome)
		})
}

// joinRace makes a failure the finding of a race that other executions have shown, if the statement that fails makes one of its accesses. The
// program has ended before the other access, and so no execution shows both.
func (c *Campaign) joinRace(v *trials.Result, failure *report.Finding) {
	where := v.Endings[0].Trial.Execution.Where
	if where == nil {
		return
	}
	for _, race := range c.races {
		if race.Suspect.Program == v.Suspect.Program && suspects.MakesAccessOf(&race.Finding, &where.Access) {
			failure.Count = c.observed.Without(v.Suspect.Program, race.Finding.Fingerprint, v.Endings[0].Outcome) // the others count already
			failure.Pair, failure.Identity, failure.Fingerprint = failure.PairFingerprint(), race.Finding.Identity, race.Finding.Fingerprint
			return
		}
	}
}

// reportFailure reports what no execution was to show, and returns the fingerprint of the finding. If no repetition of its schedule shows it, that
// is only mentioned, and the cause is what is known of it.
func (c *Campaign) reportFailure(ctx context.Context, v *trials.Result, f report.Finding, what string) (finding, cause string) {
	if r := c.reproduce(ctx, v, &f); r != nil && r.Chance && !c.Unconfirmed {
		cause = "what decides it is not known, such as files, sockets or other processes"
		if outside := r.Outside(); len(outside) > 0 {
			cause = "it depends on " + strings.Join(outside, ", ")
		}
		c.say("%s: %s, but not when its schedule was repeated: %s; -unconfirmed reports it", v.Suspect.Program.Package, what, cause)
		return "", cause
	}
	if f.Fingerprint != v.Finding.Fingerprint { // other executions may have shown it otherwise
		f.Trials.Executions = max(f.Trials.Executions, c.observed.Made(v.Suspect.Program, v.Suspect.Tests))
	}
	if c.isDeadlock(v, &f) {
		return f.Fingerprint, ""
	}
	c.add(f, false)
	c.count(func(n *Statistics) { n.Failures++ })
	return f.Fingerprint, ""
}

// maxReadable is the number of deviations of a schedule that people can follow.
const maxReadable = 300

// reproduce adds to the finding of a confirmed suspect how to repeat it, and writes the schedule. It returns nil if it could
// not be repeated.
func (c *Campaign) reproduce(ctx context.Context, v *trials.Result, finding *report.Finding) *repro.Reproduction {
	attempts := c.Minimize
	if c.memory.current != nil { // it was shrunk before
		attempts = 0
	}
	r, err := c.repeater.Reproduce(ctx, v, attempts)
	if r == nil && ctx.Err() != nil { // a schedule that was not shrunk is better than none
		last, stop := c.listener.LastMoment(ctx)
		r, err = c.repeater.Reproduce(last, v, 0)
		stop()
	}
	if err != nil && (r == nil || ctx.Err() == nil) {
		c.say("%v", err)
	}
	if r == nil || r.Execution == nil {
		return nil
	}
	if r.Chance && !c.Unconfirmed {
		return r // there is nothing to report
	}
	finding.Printed = r.Finding.Printed
	if observed.IsLeft(finding.Kind) {
		finding.Blocked, finding.Wait = r.Finding.Blocked, r.Finding.Wait // with locks and users
	}
	r.Show(finding)
	t := finding.Trials
	t.Replayed, t.Again, t.Choices = r.Replayed, r.Again, len(r.Execution.Choices)
	if t.Choices > maxReadable && r.Execution.HeldBack != "" {
		t.HeldBack, finding.Witness = r.Execution.HeldBack, nil
	}
	name, err := c.write(ctx, v.Suspect, finding, r)
	if err != nil {
		c.say("cannot write the schedule of %s: %v", finding.Fingerprint, err)
		return r
	}
	t.Endings[0].Schedule = name
	finding.Replay = c.Replay + filepath.ToSlash(name)
	return r
}

// write writes the schedule of a finding, and returns the name of its file.
func (c *Campaign) write(ctx context.Context, s *suspects.Suspect, f *report.Finding, r *repro.Reproduction) (name string, err error) {
	c.keepSchedule(ctx, s, f, r)
	text, err := c.Origin.Schedule(s.Program, r.Tests, r.Schedule, r.Execution).MarshalText()
	if err == nil {
		err = OpenFolder(c.Folder, c.Unversioned)
	}
	if err != nil {
		return "", err
	}
	name = filepath.Join(c.Folder, f.Fingerprint+".schedule")
	return name, private.Replace(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// OpenFolder makes a folder of schedules, if there is none. If it is unversioned, git ignores it then.
func OpenFolder(name string, unversioned bool) error {
	_, missing := os.Stat(name)
	if err := private.Open(name); err != nil || missing == nil || !unversioned {
		return err
	}
	return private.Put(filepath.Join(name, ".gitignore"), []byte("*\n"))
}

// Races that follow from others belong to the findings of these, and are none of their own. Which ones these are is known
// when all races are.

// followingRace is a race that follows from others.
type followingRace struct {
	result  *trials.Result
	finding report.Finding
	roots   []string // fingerprints
	suspect bool     // it counts as a confirmed suspect
}

// follows reports whether a race follows from others. If not, it is one from which others can follow. suspect says that it counts as
// a confirmed suspect.
func (c *Campaign) follows(ctx context.Context, v *trials.Result, finding *report.Finding, suspect bool) bool {
	if finding.Kind != heisen.Race {
		return false
	}
	roots, err := c.repeater.Roots(ctx, v)
	c.sayFailed(ctx, err)
	if len(roots) > 0 {
		c.following = append(c.following, followingRace{v, *finding, roots, suspect})
		return true
	}
	c.told[finding.PairFingerprint()] = told{finding.Fingerprint, finding.Trials.Harmful}
	if finding.Inside != "" {
		c.told[finding.Inside] = told{finding.Fingerprint, finding.Trials.Harmful}
	}
	return false
}

// reportFollowing adds the races that follow from reported ones to the findings of these. It reports others as findings of their own: those
// that follow from races that no execution has confirmed, and those that do harm that their roots are not known to do.
func (c *Campaign) reportFollowing(ctx context.Context) {
	for i := range c.following {
		one := &c.following[i]
		if slices.ContainsFunc(one.roots, func(root string) bool { return c.told[root].bug == one.finding.Fingerprint }) {
			c.add(one.finding, false) // another pair of accesses to the same variable
			continue
		}
		if slices.ContainsFunc(one.roots, func(root string) bool {
			of, known := c.told[root]
			return known && (of.harmful || !one.finding.Trials.Harmful) && c.listener.Follow(root, report.FollowingOf(&one.finding))
		}) {
			if one.suspect {
				c.count(func(n *Statistics) { n.Followed++ })
			}
			continue
		}
		for _, root := range one.roots {
			if _, known := c.told[root]; known {
				one.finding.Roots = append(one.finding.Roots, root)
			}
		}
		c.reportFailure(ctx, one.result, one.finding, "")
	}
}
