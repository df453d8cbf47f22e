package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/allocsite"
	"github.com/heisen-go/heisen/internal/fold"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
	"github.com/heisen-go/heisen/trace"
)

// findings collects the findings of all streams of an invocation. Equal findings in several processes or traces, or by several detectors, are
// one, and so are the races on one variable. Several goroutines may call its methods.
type findings struct {
	mu         sync.Mutex
	resolver   *report.Resolver
	order      []*finding                        // the reported ones, in the order in which they were first seen
	known      map[findingKey]*finding           // what streams have shown, by detector and places
	bugs       map[string][]*finding             // by fingerprint; several if some pairs of a race are hidden
	print      func(*report.Finding) error       // called when a finding is first seen; may be nil
	later      func(*report.Finding) bool        // findings for which it returns true are not printed then; nil if all are
	retell     func(before, now *report.Finding) // called before a finding is printed again, if it is not nil
	expect     *knownFindings                    // findings not to report
	standard   string                            // folder of the standard library's source; empty if it is not known
	unrecorded []string                          // import paths of hidden packages, whose accesses are not reported
	hidden     map[string]*report.Suppression
	left       bool           // nothing is added any more
	complete   atomic.Bool    // further findings would not be reported
	trial      *trialFindings // of a stream whose findings may have to be forgotten; otherwise nil
	full       func()         // called when there are more than maxFindings, if it is not nil; the others are not reported
}

type finding struct {
	report.Finding
	reverse bool // fold.Item.Reverse of the order that was seen first
	hidden  bool // not reported
	printed bool // when it was first seen
	told    int  // how many of its Pairs were known when it was printed the last time
}

// maxFindings bounds the findings in traces, so that a report can be written and read.
const maxFindings = 10_000

// counts reports whether a finding decides the exit status and fails tests.
func (f *findings) counts(known *finding) bool {
	return !known.hidden && !known.Supposed() && !f.expect.passes(&known.Finding)
}

// findingKey is what makes two findings of streams the same.
type findingKey struct{ detector, fingerprint string }

func keyOf(item fold.Item) findingKey {
	return findingKey{item.Finding.Detector, item.Fingerprint}
}

func newFindings(resolver *report.Resolver, print func(*report.Finding) error, expect *knownFindings) *findings {
	return &findings{
		resolver: resolver,
		known:    map[findingKey]*finding{},
		bugs:     map[string][]*finding{},
		print:    print,
		expect:   expect,
		hidden:   map[string]*report.Suppression{},
	}
}

// origin describes a stream.
type origin struct {
	symbols *heisen.Symbols
	pkg     string             // import path of the tested package, or of the program; empty if it is not known
	memory  *allocsite.Tracker // handles the events before the detectors
	gaps    trace.Gaps
	program *recorder.Stream // tells what is unseen in a program that runs, before its first event; nil for a trace
}

// doubts returns what may order the accesses of a detector's findings without being seen.
func (o origin) doubts(detector string) []string {
	if o.program != nil {
		o.gaps.Unseen = o.program.Unseen().Reasons()
	}
	return doubtsAbout(o.gaps, detector)
}

// packageOf returns the Package of a finding of the stream: if that does not say which one ran, the one of the accesses. That of package
// main is not known.
func (o origin) packageOf(f *report.Finding) string {
	if pkg := wording.Package(f); o.pkg == "" && pkg != "main" {
		return pkg
	}
	return o.pkg
}

// collect returns a set for the findings of one stream. The function done must be called when the
// stream has ended. It adds the stream's counts and returns how many of its findings are reported.
func (f *findings) collect(from origin) (c *fold.Set, done func() int) {
	c = fold.NewSet(from.symbols, func(item fold.Item) { f.see(item, from) })
	return c, func() int { return f.end(c) }
}

// untilComplete returns a sink that hands findings on as long as one could be reported. A detector may still be at work on an event when that
// is over, and its findings would take memory without bound.
func (f *findings) untilComplete(sink heisen.Sink) heisen.Sink {
	trial := f.trial
	return func(found heisen.Finding) {
		if !f.complete.Load() && (trial == nil || !trial.complete.Load()) {
			sink(found)
		}
	}
}

// end adds the counts of a stream that has ended, and returns how many of its findings are reported.
func (f *findings) end(c *fold.Set) (reported int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left {
		return 0
	}
	if f.trial != nil {
		f.trial.ended = c
		return 0
	}
	counted := map[*finding]bool{}
	for _, item := range c.All() {
		known := f.known[keyOf(item)]
		known.count(item)
		if f.counts(known) && !counted[known] {
			counted[known] = true
			reported++
		}
	}
	return reported
}

// count adds how often the detector of a finding has found one of its pairs in a stream, in one order.
func (f *finding) count(item fold.Item) {
	if item.Finding.Detector != f.Detector {
		return
	}
	f.Count += item.Count
	if item.Reverse != f.reverse && f.Reverse != nil && f.PairFingerprint() == item.Fingerprint {
		f.Reverse.Count += item.Count
	}
	for i := range f.Pairs {
		if f.Pairs[i].Fingerprint == item.Fingerprint {
			f.Pairs[i].Count += item.Count
		}
	}
}

// reported returns in how many ways findings of a stream were reached that are reported. A test fails if
// there are more at its end than at its beginning: if it does what another test has shown already, but
// calls it otherwise, it fails, too.
func (f *findings) reported(c *fold.Set) (ways int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, item := range c.All() {
		if f.counts(f.known[keyOf(item)]) {
			ways += item.Paths
		}
	}
	return ways
}

// see takes a finding that is new in its stream, or new in this order of the accesses.
func (f *findings) see(item fold.Item, from origin) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left {
		return
	}
	if f.trial != nil {
		f.trial.see(f, item, from)
		return
	}
	f.take(item, from, func() report.Finding { return f.resolved(item, from) })
}

// resolved returns a finding with what its stream says of it.
func (f *findings) resolved(item fold.Item, from origin) report.Finding {
	resolved := f.resolver.Resolve(item.Finding, from.symbols)
	resolved.Allocations = from.memory.Of(&item.Finding, from.symbols)
	return resolved
}

// take is see for a finding that is to stay. The caller holds mu.
func (f *findings) take(item fold.Item, from origin, resolve func() report.Finding) {
	known := f.known[keyOf(item)]
	if known != nil && (known.reverse == item.Reverse || known.Reverse != nil || known.PairFingerprint() != item.Fingerprint) {
		return
	}
	resolved := resolve()
	if known == nil && f.inUnrecorded(&resolved) {
		f.known[keyOf(item)] = &finding{reverse: item.Reverse, hidden: true}
		return
	}
	if known != nil {
		known.Reverse = resolved.Order()
		known.Reverse.Count = 0 // collect's done adds the counts
		return
	}
	resolved.Package = from.packageOf(&resolved)
	resolved.Unseen = from.doubts(resolved.Detector)
	observed.AtCalls(&resolved, f.standard, f.resolver)
	if same := f.same(&resolved); same != nil {
		resolved.Count = 0 // as above
		f.again(same, &resolved)
		f.known[keyOf(item)] = same
		return
	}
	known = f.enter(resolved, item.Reverse)
	known.Count = 0
	f.known[keyOf(item)] = known
}

// trialFindings are the findings of a stream that may have to be forgotten, because its detectors were made without knowing all of it.
type trialFindings struct {
	seen     []trialFinding
	ended    *fold.Set   // at the end of the stream
	full     func()      // called when there are maxFindings
	complete atomic.Bool // there are, and all will be forgotten
}

type trialFinding struct {
	item     fold.Item
	from     origin
	resolved report.Finding
}

func (t *trialFindings) see(f *findings, item fold.Item, from origin) {
	if len(t.seen) == maxFindings {
		t.complete.Store(true)
		t.full()
		return
	}
	t.seen = append(t.seen, trialFinding{item, from, f.resolved(item, from)})
}

// endTrial takes the findings of the trial, or forgets them. It returns keep.
func (f *findings) endTrial(keep bool) bool {
	f.mu.Lock()
	trial := f.takeTrial(keep)
	f.mu.Unlock()
	if keep && trial != nil && trial.ended != nil {
		f.end(trial.ended)
	}
	return keep
}

// takeTrial is endTrial without the counts. It returns the trial, if it has not ended before. The caller holds mu.
func (f *findings) takeTrial(keep bool) *trialFindings {
	trial := f.trial
	if f.trial = nil; trial != nil && keep {
		for _, seen := range trial.seen {
			f.take(seen.item, seen.from, func() report.Finding { return seen.resolved })
		}
	}
	return trial
}

// inUnrecorded reports whether a finding has an access in a hidden package. The compiler puts generic
// functions into the package that uses them, and what the standard library does belongs to its caller.
func (f *findings) inUnrecorded(found *report.Finding) bool {
	of := func(function string) bool {
		return slices.ContainsFunc(f.unrecorded, func(path string) bool {
			rest, ok := strings.CutPrefix(function, path)
			return ok && strings.HasPrefix(rest, ".")
		})
	}
	for _, a := range found.Accesses {
		if a.Op != heisen.Read.String() && a.Op != heisen.Write.String() {
			continue
		}
		k := slices.IndexFunc(a.Stack, func(frame report.Frame) bool {
			return of(frame.Func) || f.standard == "" || !strings.HasPrefix(frame.File, f.standard)
		})
		if k >= 0 && of(a.Stack[k].Func) {
			return true
		}
	}
	return false
}

// add takes a resolved finding with its count. It returns whether the finding is reported, and counts. A bug that executions have
// shown is one finding, also if one package has it as a confirmed suspect and another one as an observation. It is printed again, and
// replaces the first one, only if it turns out to do harm.
func (f *findings) add(resolved report.Finding) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.same(&resolved)
	if known == nil {
		return f.counts(f.enter(resolved, false))
	}
	f.again(known, &resolved)
	return f.counts(known)
}

// again takes a finding of a bug that is known. If it is more certain than before, or does harm, it is told again. One with executions
// that show it takes the place of one without. If earlier runs know it from the tests of one package, they know the bug.
func (f *findings) again(known *finding, resolved *report.Finding) {
	switch {
	case f.expect.passes(&known.Finding):
		resolved.History = known.History
	case f.expect.passes(resolved):
		known.History = resolved.History
	}
	harmful := func(f *report.Finding) bool { return f.Trials != nil && f.Trials.Harmful }
	worse := resolved.Certainty() > known.Certainty() || harmful(resolved) && !harmful(&known.Finding)
	if !worse && (known.Trials != nil || !happened(resolved)) {
		known.AddPairs(resolved)
		return
	}
	before := known.Finding
	resolved.AddPairs(&before)
	resolved.Following = before.Following
	known.Finding, known.told = *resolved, len(resolved.Pairs)
	if worse && f.print != nil && !known.hidden && known.printed {
		if f.retell != nil {
			f.retell(&before, resolved)
		}
		f.print(resolved)
	}
}

// same returns the finding to which another one of the same bug belongs, or nil. What hides a suspicion does not hide the bug itself. Of a
// variable, a suppression may hide some pairs of accesses; those are no part of the finding of the others.
func (f *findings) same(resolved *report.Finding) *finding {
	all := f.bugs[resolved.Fingerprint]
	if len(all) == 0 {
		return nil
	}
	by, hidden := f.expect.hides(resolved)
	if i := slices.IndexFunc(all, func(known *finding) bool { return known.hidden == hidden }); i >= 0 {
		return all[i]
	}
	switch {
	case !hidden:
		return nil
	case resolved.Identity != "":
		f.hidden[resolved.PairFingerprint()] = by
		return &finding{hidden: true}
	}
	return all[0]
}

// happened reports whether executions have shown the bug of a finding.
func happened(f *report.Finding) bool { return f.Trials != nil && f.Trials.Confirmed > 0 }

// follow adds a race to the findings of one from which it follows. It returns whether there is one.
func (f *findings) follow(root string, race report.Following) (known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, all := range f.bugs {
		for _, of := range all {
			if !of.HasPair(root) {
				continue
			}
			known = true
			if !slices.ContainsFunc(of.Following, func(r report.Following) bool { return r.Fingerprint == race.Fingerprint }) {
				of.Following = append(of.Following, race)
			}
		}
	}
	return known
}

// addFlaky adds a test to those that a finding makes flaky, if there is one with the fingerprint.
func (f *findings) addFlaky(fingerprint string, test report.FlakyTest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.bugs[fingerprint] {
		known.Flaky = append(known.Flaky, test)
	}
}

// join makes a suspicion a part of the failures in which it has happened, and no finding of its own, if there is one.
func (f *findings) join(suspicion *report.Finding, happenedIn func(*report.Finding) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	joined := false
	part := *suspicion
	part.Count = 0
	for _, known := range f.order {
		if known.Kind == heisen.Failure && happened(&known.Finding) && happenedIn(&known.Finding) {
			known.AddPairs(&part)
			joined = true
		}
	}
	if joined {
		f.order = slices.DeleteFunc(f.order, func(known *finding) bool {
			return known.Detector == suspicion.Detector && known.Fingerprint == suspicion.Fingerprint
		})
	}
}

// enter adds a finding that is not known.
func (f *findings) enter(resolved report.Finding, reverse bool) *finding {
	by, hidden := f.expect.hides(&resolved)
	if f.full != nil && len(f.order) == maxFindings && !hidden {
		f.complete.Store(true)
		f.full()
		return &finding{reverse: reverse, hidden: true}
	}
	known := &finding{Finding: resolved, reverse: reverse, hidden: hidden}
	f.bugs[resolved.Fingerprint] = append(f.bugs[resolved.Fingerprint], known)
	if hidden {
		f.hidden[resolved.Fingerprint] = by
		return known
	}
	f.order = append(f.order, known)
	if f.print != nil && (f.later == nil || !f.later(&resolved)) {
		known.printed, known.told = true, len(resolved.Pairs)
		f.print(&resolved) // an error does not keep it from being counted
	}
	return known
}

// isAbout reports whether one of the accesses of a finding is to a variable of the section, or to a
// variable without a known name.
func (f *findings) isAbout(finding heisen.Finding, symbols *heisen.Symbols, section *section.Section) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	resolved := f.resolver.Resolve(finding, symbols)
	for i := range resolved.Accesses {
		name := resolved.Accesses[i].Variable
		if name == "" || section.Covers(name) {
			return true
		}
	}
	return false
}

// count returns the number of reported findings that count.
func (f *findings) count() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.order {
		if f.counts(known) {
			n++
		}
	}
	return n
}

// all returns the reported findings, and the suppressions of the hidden ones by fingerprint.
func (f *findings) all() (reported []report.Finding, hidden map[string]*report.Suppression) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.order {
		reported = append(reported, known.Finding)
	}
	return reported, f.hidden
}

// unprinted returns the reported findings that were not printed when they were first seen.
func (f *findings) unprinted() (rest []report.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.order {
		if !known.printed {
			rest = append(rest, known.Finding)
		}
	}
	return rest
}

// leave ends the collection while a stream is still being analyzed. Each finding counts at least once.
func (f *findings) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takeTrial(true)
	f.left = true
	f.complete.Store(true)
	for _, known := range f.order {
		known.Count = max(known.Count, 1)
	}
}

// hide adds hidden findings to the summary.
func (f *findings) hide(hidden map[string]*report.Suppression) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(f.hidden, hidden)
}

// jsonTo returns a function that writes findings as lines of JSON.
func jsonTo(w io.Writer) func(*report.Finding) error {
	return func(f *report.Finding) error { return report.WriteJSON(w, f) }
}

// summary prints the number of reported findings of each kind, in the words of Go's race detector.
// If findings were printed when they were first seen, summary prints how often each was found. Of several findings it also prints which are about
// the same variable, and which one to look at first. It ends with the hidden findings. Findings for which quiet returns
// true are left out; it may be nil.
func (f *findings) summary(w io.Writer, quiet func(*report.Finding) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.expect.summary(w, f.hidden)
	numbers := map[string]int{}
	var kinds []string
	shown := slices.DeleteFunc(slices.Clone(f.order), func(known *finding) bool { return quiet != nil && quiet(&known.Finding) })
	for _, known := range shown {
		kind := kindNoun(&known.Finding)
		if numbers[kind]++; numbers[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		fmt.Fprintf(w, "Found %d %s\n", numbers[kind], kind)
	}
	for _, known := range shown {
		if times := known.Finding.Times(); known.printed && (times != "" || len(known.Detectors) > 0) {
			fmt.Fprintf(w, "  %s (%s): %s\n", known.Fingerprint, known.By(), cmp.Or(times, "once"))
		}
		if known.printed {
			known.tellPairs(w)
		}
	}
	overview(w, shown)
}

// maxToldPairs bounds the pairs of accesses of a finding in a summary.
const maxToldPairs = 4

// tellPairs prints the pairs of accesses that have become known since the finding was printed.
func (f *finding) tellPairs(w io.Writer) {
	for i := f.told; i < len(f.Pairs); i++ {
		if i-f.told == maxToldPairs {
			more := plural.Of(len(f.Pairs)-i, "more pair") + " of accesses"
			if len(f.Pairs[0].Accesses) == 1 {
				more = plural.Of(len(f.Pairs)-i, "more place")
			}
			fmt.Fprintf(w, "    and %s\n", more)
			return
		}
		fmt.Fprintf(w, "    also %s\n", &f.Pairs[i])
	}
}

// maxGroups bounds the variables in a summary.
const maxGroups = 10

// overview prints which findings are about the same variable, and which one to look at first, if there
// are several.
func overview(w io.Writer, shown []*finding) {
	var all []report.Finding
	for _, known := range shown {
		all = append(all, known.Finding)
	}
	if len(all) < 2 {
		return
	}
	groups := wording.Groups(all)
	for i, g := range groups {
		if i == maxGroups {
			fmt.Fprintf(w, "  and %s\n", plural.Of(len(groups)-i, "more variable"))
			break
		}
		var names []string
		for _, k := range g.Findings {
			names = append(names, all[k].Fingerprint)
		}
		fmt.Fprintf(w, "  %s in %s: %s\n", g.What, cmp.Or(g.Package, "an unknown package"), strings.Join(names, ", "))
	}
	first := &all[wording.InOrder(all)[0]]
	fmt.Fprintf(w, "Look first at %s, %s: %s\n", first.Fingerprint, wording.About(first), wording.Reason(first))
}

func kindNoun(f *report.Finding) string {
	switch f.Kind {
	case heisen.Race:
		if f.Supposed() {
			return "potential data race(s)"
		}
		return "data race(s)"
	case heisen.Atomicity:
		if f.Potential() {
			return "potential atomicity violation(s)"
		}
		return "atomicity violation(s)"
	case heisen.Deadlock:
		if f.Certainty() == report.Confirmed {
			return "deadlock(s)"
		}
		return "potential deadlock(s)"
	case heisen.PotentialRace:
		return "potential data race(s)"
	case heisen.Leak:
		return "goroutine leak(s)"
	case heisen.Unstoppable:
		return "unstoppable goroutine(s)"
	case heisen.Misuse:
		return "misuse(s)"
	case heisen.Failure:
		return "failing execution(s)"
	case heisen.Discipline:
		return "violation(s) of the locking discipline"
	}
	return string(f.Kind) + " finding(s)"
}
