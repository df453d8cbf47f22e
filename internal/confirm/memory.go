package confirm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/repro"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/corpus"
	"github.com/heisen-go/heisen/internal/kept"
	"github.com/heisen-go/heisen/internal/onepage"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

// A campaign with a corpus begins with what earlier ones have found: it repeats the schedules of their findings, and reports those that they
// show. Then it goes on with seeds that were not tried. If the program is another one, or a schedule does not show its finding any more, it
// begins with the first seeds, as without a corpus: so it finds whatever it would find then. What it does depends only on the corpus, the
// seeds and the flags, as far as time allows.

// Memory says where a campaign keeps what it finds out.
type Memory struct {
	Folder   *corpus.Folder
	To       *corpus.Folder // where what this campaign finds out is kept; nil for Folder
	Flags    string         // those that decide what the executions of given seeds are
	Chosen   bool           // the seeds are the user's own, and are tried as they are
	ReadOnly bool           // what this campaign finds out is not kept: the next one finds the same new
}

// to returns the folder where what a campaign finds out is kept.
func (m *Memory) to() *corpus.Folder { return cmp.Or(m.To, m.Folder) }

// round is the distance between the seeds of two campaigns. A search uses fewer.
const round = 1_000_000

// remembering has what a campaign knows of earlier ones.
type remembering struct {
	programs []*remembered
	hash     string
	current  *repeated // what is being repeated; nil afterwards
	made     map[madeKey]madeSchedule
}

// remembered is what is known of a program.
type remembered struct {
	*controlled.Program
	key         corpus.Key
	before, now *corpus.Memory
	from        string          // a hash of what was read
	seen        map[string]bool // fingerprints of the findings that this campaign has reported
	fates       map[string]fate // what the schedules of the others have shown
	harmful     map[string]bool // the ones seen before the survey, and whether they do harm
	fromStart   bool
}

// fate is what the schedule of a finding that it has not shown was good for.
type fate struct {
	usefulness
	why  string // it was not carried over; may be empty
	gone bool   // because a place of the finding is not reached any more
}

type usefulness int

const (
	unrepeated  usefulness = iota // there was none, or no time for it
	derailed                      // the execution is another one, because the program is
	lost                          // it is another one, although the program is the same
	mended                        // the execution is the same, and does not show the finding
	carriedOver                   // the order of operations is the same as far as the program allows it, and does not show the finding
)

// repeated is a finding whose schedule is repeated.
type repeated struct {
	*remembered
	*corpus.Finding
	renamed bool // the execution is the same, but what it shows has another fingerprint; the kind is the same
}

// recall reads what is known of the programs, and repeats the findings.
func (c *Campaign) recall(ctx context.Context) error {
	if c.Memory == nil {
		return nil
	}
	defer c.enter(Repeating, func(*Statistics) {})()
	var texts [][]byte
	for _, p := range c.Programs {
		r := &remembered{Program: p, key: c.keyOf(p), seen: map[string]bool{}, fates: map[string]fate{}, harmful: map[string]bool{}}
		m, text, err := c.Memory.Folder.Read(r.key)
		if err != nil {
			c.say("%s: nothing is remembered: %v", p.Package, err)
			continue
		}
		texts = append(texts, text)
		identity, err := c.identityOf(p)
		if err != nil {
			return err
		}
		r.before, r.now, r.from = m, m.Clone(), corpus.Hash(text)
		r.now.Begin(identity)
		c.memory.programs = append(c.memory.programs, r)
	}
	c.memory.hash = corpus.Hash(texts...)
	c.count(func(n *Statistics) {
		n.Corpus = c.memory.hash
		n.Work, n.Run = c.workOfPart()
		for _, r := range c.memory.programs {
			n.Remembered += len(r.before.Findings)
		}
	})
	for _, r := range c.memory.programs {
		if err := c.repeatAll(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.Package, err)
		}
		if !r.fromStart && !c.Memory.Chosen {
			r.goOn()
		}
	}
	return nil
}

// keyOf returns under which name a program is kept. Tests that print more are the same ones.
func (c *Campaign) keyOf(p *controlled.Program) corpus.Key {
	args := slices.DeleteFunc(slices.Clone(p.Args), func(arg string) bool { return p.Test && strings.HasPrefix(arg, "-test.v") })
	k := corpus.Key{Verb: c.Origin.Verb, Package: p.Package, Args: args, Tags: c.Origin.Tags}
	if !p.Test {
		if at, err := filepath.Rel(kept.Module(c.Origin.Folder), c.Origin.Folder); err == nil {
			k.At = filepath.ToSlash(at)
		}
	}
	return k
}

// identityOf returns what is equal if a program is the same, and what is tried.
func (c *Campaign) identityOf(p *controlled.Program) (string, error) {
	f, err := os.Open(p.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", c.Memory.Flags, c.Origin.Version)
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// goOn makes the campaign try what was not tried yet.
func (r *remembered) goOn() {
	r.Seeds = r.now.Rounds * round
	for _, u := range r.Units {
		if t := r.now.Test(u.Test); t != nil && r.Seeds > 0 {
			u.Earlier = controlled.Done{Behaviors: setOf(t.Behaviors), Orders: setOf(t.Orders)}
		}
	}
}

// repeatAll repeats the findings of a program, for at most the time in which its units are searched. Each part of a campaign repeats others.
func (c *Campaign) repeatAll(ctx context.Context, r *remembered) error {
	ends := time.Now().Add(max(c.Time, time.Second) * time.Duration(max(len(r.Units), 1)))
	usual := map[string]controlled.Outcome{} // by tests
	for i := range r.before.Findings {
		f := &r.before.Findings[i]
		if !c.looksFor(r, i) {
			continue
		}
		for try := 0; f.Schedule != nil && !r.seen[f.Fingerprint] && time.Now().Before(ends); try++ {
			again, err := c.repeat(ctx, r, f, usual)
			if err != nil {
				return err
			}
			if !again || try == repetitions-1 {
				break
			}
		}
		r.fromStart = r.fromStart || f.Gone == "" && !r.seen[f.Fingerprint]
	}
	return nil
}

// looksFor reports whether this part of the campaign repeats the i-th of the known findings, and so says whether it is gone.
func (c *Campaign) looksFor(r *remembered, i int) bool {
	return i%c.Parts == c.Part-1 && r.concerns(&r.before.Findings[i])
}

// concerns reports whether the campaign looks for a finding. If only some tests are executed, it does if one of them is among those of the
// schedule.
func (r *remembered) concerns(f *corpus.Finding) bool {
	if r.Pattern() == "" {
		return true
	}
	tests, err := regexp.Compile(f.Tests)
	return err == nil && f.Tests != "" && slices.ContainsFunc(r.Units, func(u *controlled.Unit) bool { return tests.MatchString(u.Test) })
}

// repetitions is how often a schedule is repeated that does not show its finding, although the program is the same.
const repetitions = 3

// repeat repeats a finding and reports it if it is shown. It reports whether another repetition could show it.
func (c *Campaign) repeat(ctx context.Context, r *remembered, f *corpus.Finding, usual map[string]controlled.Outcome) (again bool, err error) {
	public := *f.Schedule
	public.Command, public.Program = c.Origin.Verb, r.Package
	controlled.Settle(&public, kept.Module(c.Origin.Folder))
	_, schedule, err := controlled.Restore(&public, kept.Module(c.Origin.Folder))
	if err == nil && f.Tests != "" {
		_, err = regexp.Compile(f.Tests)
	}
	if err != nil {
		c.say("%s: the schedule of %s cannot be used: %v", r.Package, f.Fingerprint, err)
		return false, nil
	}
	if schedule.MaxVirtual == 0 {
		schedule.MaxVirtual = c.Virtual
	}
	s := c.anythingIn(r.Program, f.Tests)
	s.Targets = schedule.Targets
	e, err := r.Execute(ctx, c.Plan(s, schedule), c.Resolver)
	if err != nil {
		return false, err
	}
	normal, known := usual[f.Tests]
	if !known {
		if normal, err = c.usualOutcome(ctx, s, public.Procs); err != nil {
			return false, err
		}
		usual[f.Tests] = normal
	}
	same, changed := e.Hash == public.Hash && e.Steps == public.Steps, r.before.Program != r.now.Program
	repetition := &repetition{&repeated{r, f, false}, s, schedule, normal}
	carries := changed && len(f.Order.Turns) > 0
	var carriedTo fate
	if carries && !same && !repetition.in(schedule, e) { // what the schedule shows by chance may be the finding by another name
		if carriedTo, err = c.carryOver(ctx, repetition); err != nil {
			return false, err
		}
		carries = false
	}
	c.show(ctx, repetition, schedule, e, same, same)
	switch {
	case r.seen[f.Fingerprint]:
		return false, nil
	case carries:
		if carriedTo, err = c.carryOver(ctx, repetition); err != nil {
			return false, err
		}
		if carriedTo.usefulness == derailed && !carriedTo.gone {
			carriedTo.usefulness = mended
		}
		r.fates[f.Fingerprint] = carriedTo
	case carriedTo.usefulness != unrepeated:
		r.fates[f.Fingerprint] = carriedTo
	case same:
		r.fates[f.Fingerprint] = fate{usefulness: mended}
	case !changed:
		r.fates[f.Fingerprint] = fate{usefulness: lost}
		return true, nil
	default:
		r.fates[f.Fingerprint] = fate{usefulness: derailed}
	}
	return false, nil
}

// repetition is how a finding is repeated.
type repetition struct {
	*repeated
	any      *suspects.Suspect // that the tests can fail in any way
	schedule *recorder.Schedule
	usual    controlled.Outcome
}

// in reports whether an execution shows the finding.
func (r *repetition) in(schedule *recorder.Schedule, e *controlled.Execution) bool {
	bugs, failures := trials.Shown(r.any, &trials.Trial{Seed: schedule.Strategy.Seed, Schedule: schedule, Execution: e, First: -1}, r.usual)
	return slices.ContainsFunc(slices.Concat(bugs, failures), r.is)
}

func (r *repetition) is(v *trials.Result) bool { return v.Finding.Fingerprint == r.Fingerprint }

// show reports what an execution shows of a finding that is repeated. judged is set if an earlier campaign has judged the execution, among others. If
// it is alike the one that has shown the finding, but shows another one, that is the same by another name. It returns whether the execution shows
// anything that earlier campaigns have not reported.
func (c *Campaign) show(ctx context.Context, of *repetition, schedule *recorder.Schedule, e *controlled.Execution, judged, alike bool) (other bool) {
	t := &trials.Trial{Seed: schedule.Strategy.Seed, Schedule: schedule, Execution: e, First: -1}
	bugs, failures := trials.Shown(of.any, t, of.usual)
	c.count(func(n *Statistics) {
		n.Repeated++
		if judged {
			c.observed.Tally(of.any, t)
		} else {
			c.observed.Add(-1<<20+n.Repeated, of.any, t) // before those of the survey
		}
	})
	is := of.is
	shows := slices.ContainsFunc(bugs, is) || slices.ContainsFunc(failures, is)
	c.memory.current = &repeated{of.remembered, of.Finding, alike && !shows}
	defer func() { c.memory.current = nil }()
	for _, u := range of.any.Units() {
		if u.Alone == nil {
			u.Alone = &of.usual
			defer func() { u.Alone = nil }() // the survey has its own
		}
	}
	for _, v := range bugs {
		if is(v) || !shows {
			c.reportRepeated(ctx, v)
		}
	}
	waiting := c.unexplained
	c.unexplained = failures
	if !slices.ContainsFunc(bugs, is) {
		c.reportFailures(ctx)
	}
	if c.unexplained = waiting; !judged {
		c.unexplained = append(c.unexplained, failures...)
	}
	return slices.ContainsFunc(slices.Concat(bugs, failures), func(v *trials.Result) bool { return of.before.Finding(v.Finding.Fingerprint) == nil })
}

// anythingIn returns the suspicion that some tests can fail in any way.
func (c *Campaign) anythingIn(p *controlled.Program, tests string) *suspects.Suspect {
	for _, u := range p.Units {
		if u.Pattern() == tests {
			return suspects.AnyFailureIn(u, strategies.Replay)
		}
	}
	s := suspects.AnyFailure(p, strategies.Replay)
	s.Tests = tests
	return s
}

// usualOutcome returns how tests end under the default schedule.
func (c *Campaign) usualOutcome(ctx context.Context, s *suspects.Suspect, procs int) (controlled.Outcome, error) {
	schedule := c.DirectedSchedule(suspects.AnyFailure(s.Program, strategies.Replay), 0)
	schedule.Procs = procs
	e, err := s.Program.Execute(ctx, c.Plan(s, schedule), c.Resolver)
	if err != nil {
		return controlled.Outcome{}, err
	}
	return e.Outcome, nil
}

// reportRepeated reports a bug that a repeated schedule has shown.
func (c *Campaign) reportRepeated(ctx context.Context, v *trials.Result) {
	if v.Suspect.Observed {
		c.reportBug(ctx, v)
		return
	}
	for _, e := range v.Endings {
		c.explain(v.Suspect.Program, v.Finding.Fingerprint, e.Outcome)
	}
	finding := v.Report(v.Suspect.Usual()...)
	c.asBefore(&finding)
	if c.reproduce(ctx, v, &finding) == nil {
		return
	}
	if finding.Kind == heisen.Race {
		c.told[finding.PairFingerprint()] = told{finding.Fingerprint, finding.Trials.Harmful}
	}
	c.races = append(c.races, &trials.Result{Suspect: v.Suspect, Finding: finding})
	c.add(finding, false)
	c.count(func(n *Statistics) { n.Failures++ })
}

// asBefore makes a finding that is repeated do no harm if earlier campaigns have not shown any: a single execution may have failed for another reason.
func (c *Campaign) asBefore(f *report.Finding) {
	current := c.memory.current
	if current == nil || current.Harmful || !f.Trials.Harmful || f.Fingerprint != current.Fingerprint && !current.renamed {
		return
	}
	f.Trials.Harmful = false
	for i := range f.Trials.Endings {
		f.Trials.Endings[i].Anyway = true
	}
}

// of returns what is known of the program of a finding; nil if nothing is remembered.
func (m *remembering) of(f *report.Finding) *remembered {
	for _, r := range m.programs {
		if r.Tested() == f.Package {
			return r
		}
	}
	return nil
}

// add reports a finding. One that executions have shown is remembered.
func (c *Campaign) add(f report.Finding, quiet bool) {
	if r := c.memory.of(&f); r != nil && !quiet && f.Trials != nil && f.Trials.Confirmed > 0 {
		f.History = c.remember(r, &f)
	}
	c.listener.Add(f, quiet)
}

// remember notes that a finding was reported, and returns what is known of it.
func (c *Campaign) remember(r *remembered, f *report.Finding) *report.History {
	today := corpus.DayOf(time.Now())
	now := corpus.Finding{Fingerprint: f.Fingerprint, First: today}
	history := &report.History{State: "new"}
	old := r.before.Finding(f.Fingerprint)
	if current := c.memory.current; old == nil && current != nil && current.renamed && kindIn(current.Subject) == kindIn(onepage.Subject(f)) {
		old = current.Finding
		r.now.Without(old.Fingerprint)
		r.seen[old.Fingerprint], current.renamed = true, false
	}
	if old != nil {
		now = *old
		now.Fingerprint = f.Fingerprint
		history = &report.History{State: "known", First: string(old.First), Gone: string(old.Gone)}
		if old.Gone != "" {
			history.State = "back"
		}
	}
	if last := r.now.Finding(f.Fingerprint); last != nil && r.seen[f.Fingerprint] {
		now.Schedule, now.Tests, now.Order, now.Harmful = last.Schedule, last.Tests, last.Order, last.Harmful // of this campaign
	}
	now.Harmful = now.Harmful || f.Trials.Harmful
	now.Subject, now.Last, now.Gone, now.Fixed = onepage.Subject(f), today, "", false
	now.Stated, now.Found = r.now.Runs, r.now.Runs
	if made, ok := c.memory.made[madeKey{r.Program, f.Fingerprint}]; ok {
		now.Schedule, now.Tests, now.Order = made.schedule, made.tests, made.order
	}
	r.seen[f.Fingerprint] = true
	if c.memory.current != nil {
		r.harmful[f.Fingerprint] = f.Trials.Harmful
	}
	r.now.PutFinding(now)
	return history
}

// kindIn returns the part of a subject that says what kind of finding it is.
func kindIn(subject string) string {
	kind, _, _ := strings.Cut(subject, ":")
	return kind
}

type madeKey struct {
	program     *controlled.Program
	fingerprint string
}

// madeSchedule is a schedule that was written.
type madeSchedule struct {
	schedule *racefuzz.Schedule
	tests    string
	order    corpus.Order
}

// keepSchedule keeps the schedule of a finding: without what says which program it is, and with the order to which it leads.
func (c *Campaign) keepSchedule(ctx context.Context, s *suspects.Suspect, f *report.Finding, r *repro.Reproduction) {
	p, current := s.Program, c.memory.current
	if len(c.memory.programs) == 0 || current != nil && current.before.Program == current.now.Program && current.Fingerprint == f.Fingerprint {
		return // or it is kept
	}
	origin := c.Origin
	origin.Folder = kept.Module(origin.Folder)
	made := *r.Schedule
	if e := r.Execution; made.Strategy.Strategy != strategies.Follow && e.Lost == 0 && len(e.Choices) <= racefuzz.MaxChoices { // other strategies depend on more
		made.Strategy = strategies.Config{Strategy: strategies.Replay, Seed: made.Strategy.Seed, Choices: e.Choices}
	}
	order, err := c.orderOf(ctx, s, f, r)
	if err != nil && ctx.Err() == nil {
		c.say("%s: the order of the schedule is not known: %v", p.Package, err)
	}
	kept := origin.Schedule(p, r.Tests, &made, r.Execution)
	controlled.Anchor(kept, origin.Folder)
	kept.Command, kept.Program, kept.Args, kept.Tags, kept.Packages = "", "", nil, nil, nil
	if c.memory.made == nil {
		c.memory.made = map[madeKey]madeSchedule{}
	}
	c.memory.made[madeKey{p, f.Fingerprint}] = madeSchedule{kept, r.Tests, order}
}

// isRepeated reports whether a finding was reported before the survey, and this one says no more of it.
func (c *Campaign) isRepeated(f *report.Finding) bool {
	r := c.memory.of(f)
	if r == nil || c.memory.current != nil {
		return false
	}
	harmful, known := r.harmful[f.Fingerprint]
	return known && (harmful || !f.Trials.Harmful)
}

// conclude keeps what the campaign has found out, and says so if that is not possible. If the campaign is complete, it says what it has not
// found again.
func (c *Campaign) conclude(complete bool) {
	today := corpus.DayOf(time.Now())
	for _, r := range c.memory.programs {
		surveyed := complete && r.Surveyed
		for i := range r.before.Findings {
			f := r.before.Findings[i]
			if r.seen[f.Fingerprint] || !surveyed || !c.looksFor(r, i) {
				continue
			}
			if f.Gone == "" {
				f.Gone = today
				c.sayGone(r, &f)
			}
			f.Fixed, f.Stated = f.Fixed || r.fates[f.Fingerprint].fixed(), r.now.Runs
			r.now.PutFinding(f)
			c.count(func(n *Statistics) { n.Gone++ })
		}
		for _, u := range r.Units {
			if u.Executions == 0 && u.Earlier.Orders == nil {
				continue
			}
			t := corpus.Test{Name: u.Test}
			if old := r.now.Test(u.Test); old != nil {
				t = *old
			}
			if u.Executions > 0 {
				t.Add(r.now.Runs, corpus.Work{ID: c.workOn(r, u.Share), Executions: uint64(u.Executions), Took: u.Used})
			}
			t.All = max(t.All, uint64(u.All))
			t.Behaviors, t.Orders = sorted(t.Behaviors, u.Earlier.Behaviors), sorted(t.Orders, u.Earlier.Orders)
			r.now.PutTest(t)
		}
		if surveyed && !c.Memory.Chosen && r.Pattern() == "" && r.now.Rounds*round == r.Seeds {
			r.now.Rounds++
		}
		if c.Memory.ReadOnly {
			continue
		}
		if err := c.Memory.to().Write(r.key, r.before, r.now); err != nil {
			c.say("%s: what this run has found out is not remembered: %v", r.Package, err)
		}
	}
	if len(c.memory.programs) > 0 && !c.Memory.ReadOnly {
		c.Memory.to().Trim()
	}
}

// workOn returns what is equal if the search of a unit of the program is the same, or one of them is the beginning of the other.
func (c *Campaign) workOn(r *remembered, share controlled.Share) string {
	return hashOf(r.from, r.now.Program, c.From, c.To, share.I, share.Parts())
}

// workOfPart returns what is equal if what a part of a campaign tries is the same, and the number of its run.
func (c *Campaign) workOfPart() (id string, run uint64) {
	parts := []any{c.Part, c.Parts, c.From, c.To}
	for _, r := range c.memory.programs {
		parts = append(parts, r.Package, r.from, r.now.Program)
		run = max(run, r.now.Runs)
	}
	return hashOf(parts...), run
}

// hashOf returns a hash of words and numbers.
func hashOf(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%q\n", fmt.Sprint(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// sayGone says that a finding was not found again.
func (c *Campaign) sayGone(r *remembered, f *corpus.Finding) {
	what := fmt.Sprintf("%s: %s (%s, last seen on %s)", r.Package, printable.Text(f.Subject), f.Fingerprint, f.Last)
	switch fate := r.fates[f.Fingerprint]; fate.usefulness {
	case carriedOver:
		c.say("fixed: %s: its schedule was carried over, and does not show it any more", what)
	case mended:
		c.say("fixed: %s: the execution of its schedule is the same as before, and does not show it any more", what)
	case derailed:
		if fate.why != "" {
			fate.why = ": " + printable.Text(fate.why)
		}
		c.say("not seen: %s: its schedule does not fit the program any more%s", what, fate.why)
	case lost:
		c.say("not seen: %s: its schedule did not show it in %s of the same program", what, plural.Of(repetitions, "execution"))
	default:
		c.say("not seen: %s: its schedule was not repeated", what)
	}
}

func setOf(all []uint64) map[uint64]bool {
	set := make(map[uint64]bool, len(all))
	for _, n := range all {
		set[n] = true
	}
	return set
}

// sorted returns what is in a list and in a set, ascending.
func sorted(list []uint64, set map[uint64]bool) []uint64 {
	all := setOf(list)
	maps.Copy(all, set)
	return slices.Sorted(maps.Keys(all))
}
