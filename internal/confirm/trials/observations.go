package trials

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/report"
)

// Observations collects the bugs that executions show by themselves, whatever they try
// (Execution.Observed). The zero value is empty. The results do not depend on the order in which
// executions are added.
type Observations struct {
	known map[observationKey]*observation
	made  map[*controlled.Program]int              // executions
	ended map[*controlled.Program]map[endedKey]int // executions
	// tallied are these executions, and others, by the tests that failed besides.
	tallied map[*controlled.Program]map[tallyKey]int
}

type observationKey struct {
	program     *controlled.Program
	fingerprint string
}

// observation has the executions that have shown a bug, by their outcomes without numbers and, for a race, by the
// access that came first.
type observation struct {
	endings map[endingKey]*observedEnding
	shown   map[shownKey]int           // executions
	orders  map[shownKey]int           // the same by the accesses that came first in all pairs that an execution has shown
	pairs   map[string]*observedEnding // the first executions with the pairs of accesses of a race, by their fingerprints
}

// endedKey says which tests an execution had, and how it ended, without numbers.
type endedKey struct {
	tests   string
	outcome controlled.Outcome
}

// shownKey is the same of an execution with a bug and, for a race, the access that came first.
type shownKey struct {
	endedKey
	first string
}

type endingKey struct {
	outcome controlled.Outcome
	first   string
}

// observedEnding is the first execution with a bug and an outcome.
type observedEnding struct {
	suspect  *suspects.Suspect // that it tried, with the bug as its finding
	trial    *Trial
	position int // of the suspect; negative for runs of a survey
	count    int // executions with the bug and the outcome
	delayed  int // those of them with a delay, as in Ending
	assumed  int // those of them that show nothing but an assumption about time, whatever the outcome
}

// AddSurvey adds the runs of a survey.
func (o *Observations) AddSurvey(p *controlled.Program, runs []*suspects.Run) {
	for i, run := range runs {
		o.Add(i-len(runs), surveyed(p, run), trialOf(run))
	}
}

// Add adds an execution that tried a suspect. position orders the suspects.
func (o *Observations) Add(position int, s *suspects.Suspect, t *Trial) {
	if o.known == nil {
		o.known, o.made, o.ended = map[observationKey]*observation{}, map[*controlled.Program]int{}, map[*controlled.Program]map[endedKey]int{}
	}
	o.made[s.Program]++
	outcome := t.Execution.Outcome.Identity()
	if o.ended[s.Program] == nil {
		o.ended[s.Program] = map[endedKey]int{}
	}
	ended := endedKey{s.Tests, outcome}
	if t.follows() {
		ended.tests = s.TestsOf(t.Schedule)
	}
	o.ended[s.Program][ended]++
	o.tally(s.Program, ended.tests, t)
	for i := range t.Execution.Observed {
		f := &t.Execution.Observed[i]
		key := observationKey{s.Program, f.Fingerprint}
		if o.known[key] == nil {
			o.known[key] = &observation{map[endingKey]*observedEnding{}, map[shownKey]int{}, map[shownKey]int{}, map[string]*observedEnding{}}
		}
		o.known[key].addPair(&observedEnding{suspect: s.AsObserved(f), trial: t, position: position, count: 1})
		if slices.ContainsFunc(t.Execution.Observed[:i], func(other report.Finding) bool { return other.Fingerprint == f.Fingerprint }) {
			continue // another pair of accesses to the same variable
		}
		next := &observedEnding{suspect: s.AsObserved(f), trial: t, position: position, count: 1}
		if t.Execution.Late() {
			next.delayed = 1
		}
		if t.Execution.Overtook() || observed.InTime(f) || observed.IsLateUse(f) && t.Execution.Late() {
			next.assumed = 1
		}
		ending := endingKey{outcome, suspects.FirstAccess(f)}
		o.known[key].shown[shownKey{ended, ending.first}]++
		if f.Kind == heisen.Race {
			o.known[key].orders[shownKey{ended, firstAccesses(t.Execution.Observed, f.Fingerprint)}]++
		}
		if same := o.known[key].endings[ending]; same != nil {
			next.count += same.count
			next.delayed += same.delayed
			next.assumed += same.assumed
			if !next.before(same) {
				next.suspect, next.trial, next.position = same.suspect, same.trial, same.position
			}
		}
		o.known[key].endings[ending] = next
	}
}

// firstAccesses returns which accesses came first in the pairs of a race, and by which threads: both may be the same statement.
func firstAccesses(all []report.Finding, fingerprint string) string {
	var firsts []string
	for i := range all {
		if f := &all[i]; f.Fingerprint == fingerprint && len(f.Accesses) > 0 {
			firsts = append(firsts, fmt.Sprint(f.PairFingerprint(), " ", suspects.FirstAccess(f), " ", f.Accesses[0].Thread))
		}
	}
	slices.Sort(firsts)
	return strings.Join(slices.Compact(firsts), "\n")
}

// addPair adds an execution with a pair of accesses.
func (b *observation) addPair(next *observedEnding) {
	pair := next.suspect.Finding.PairFingerprint()
	same := b.pairs[pair]
	if same != nil {
		next.count += same.count
		if !next.before(same) {
			next.suspect, next.trial, next.position = same.suspect, same.trial, same.position
		}
	}
	b.pairs[pair] = next
}

// otherPairs adds to the finding of the observation the pairs of accesses that it does not have.
func (b *observation) otherPairs(f *report.Finding) {
	count := f.Count
	for _, pair := range slices.Sorted(maps.Keys(b.pairs)) {
		one := b.pairs[pair].suspect.Finding
		one.Count = uint64(b.pairs[pair].count)
		f.AddPairs(&one)
	}
	f.Count = count
}

// Count returns the number of bugs so far.
func (o *Observations) Count() int { return len(o.known) }

// Made returns the number of executions of a program that had some tests, as in Suspect, or all.
func (o *Observations) Made(p *controlled.Program, tests string) (n int) {
	for key, executions := range o.ended[p] {
		if key.tests == tests || key.tests == "" || tests == "" {
			n += executions
		}
	}
	return n
}

// Without returns the number of executions of a program with an outcome that do not show a bug.
func (o *Observations) Without(p *controlled.Program, fingerprint string, outcome controlled.Outcome) (n uint64) {
	for key, executions := range o.ended[p] {
		if key.outcome.Same(outcome) {
			n += uint64(executions)
		}
	}
	if of := o.known[observationKey{p, fingerprint}]; of != nil {
		for key, executions := range of.shown {
			if key.outcome.Same(outcome) {
				n -= uint64(executions)
			}
		}
	}
	return n
}

// Independent reports whether executions say that a failure of tests has nothing to do with a race: whichever accesses came first, and whether
// the race is there or not, some fail so and some pass.
func (o *Observations) Independent(p *controlled.Program, race string, failure controlled.Outcome) bool {
	of := o.known[observationKey{p, race}]
	if of == nil {
		return false
	}
	tests := map[string]bool{} // with the failure
	for key := range o.ended[p] {
		tests[key.tests] = tests[key.tests] || key.outcome.Same(failure)
	}
	counts := map[string]*[2]int{} // that passed, and that failed so, by the accesses that came first
	add := func(ended endedKey, first string, n int) {
		if fails := ended.outcome.Same(failure); tests[ended.tests] && (fails || ended.outcome.Class == controlled.Passed) {
			if counts[first] == nil {
				counts[first] = new([2]int)
			}
			if fails {
				counts[first][1] += n
			} else {
				counts[first][0] += n
			}
		}
	}
	for key, n := range o.ended[p] {
		add(key, "", n)
	}
	for key, n := range of.orders {
		add(key.endedKey, "", -n)
		add(key.endedKey, key.first, n)
	}
	return areIndependent(slices.Collect(maps.Values(counts)))
}

// areIndependent reports whether what decides between the two numbers of a row is not the row: nine of ten are in rows that have both, and
// none of the other rows is so large that this is no chance.
func areIndependent(rows []*[2]int) bool {
	var all [2]float64
	for _, row := range rows {
		all[0] += float64(row[0])
		all[1] += float64(row[1])
	}
	n, both := all[0]+all[1], 0
	for _, row := range rows {
		switch {
		case row[0] > 0 && row[1] > 0:
			both += row[0] + row[1]
		case math.Pow(all[0]/n, float64(row[0]))*math.Pow(all[1]/n, float64(row[1])) < 0.01:
			return false
		}
	}
	return 10*float64(both) >= 9*n && both > 0
}

// before reports whether an execution is the one to show rather than another one.
func (e *observedEnding) before(other *observedEnding) bool { return e.compare(other) < 0 }

func (e *observedEnding) compare(other *observedEnding) int {
	return cmp.Or(suspects.BoolOrder(e.trial.Execution.Overtook())-suspects.BoolOrder(other.trial.Execution.Overtook()),
		cmp.Compare(e.position, other.position),
		suspects.BoolOrder(other.trial.follows())-suspects.BoolOrder(e.trial.follows()),
		cmp.Compare(e.trial.Number, other.trial.Number))
}

// late reports whether what executions show, beside a race, may only be an assumption about time: all fail, after
// a delay, or in all of them time has passed while something outside could still answer, or a goroutine has used a
// test before its end.
func (e *observedEnding) late() bool {
	return e.assumed == e.count || e.delayed == e.count && e.trial.Execution.Outcome.Class.Failed()
}

// result returns the bug with its endings, the worst first.
func (b *observation) result(made map[*controlled.Program]int) (v *Result, first *observedEnding) {
	endings := slices.SortedFunc(maps.Values(b.endings), func(a, b *observedEnding) int {
		return cmp.Or(b.trial.Execution.Outcome.Class.Harm()-a.trial.Execution.Outcome.Class.Harm(), b.count-a.count, a.compare(b))
	})
	// What a failed test leaves behind is no bug, nor does it harm. If the failure may be a timing assumption,
	// other executions count alone.
	timing := false
	if kind := endings[0].suspect.Finding.Kind; observed.IsLeft(kind) || kind == heisen.Misuse {
		others := slices.DeleteFunc(slices.Clone(endings), (*observedEnding).late)
		if timing = len(others) == 0; !timing {
			endings = others
		}
	}
	first = endings[0]
	v = &Result{Suspect: first.suspect, Finding: first.suspect.Finding, Tried: made[first.suspect.Program]}
	for _, e := range endings {
		t := *e.trial
		t.Confirmed, t.First = true, -1
		if e.suspect.Finding.Kind == heisen.Race {
			t.First = v.Suspect.Side(&e.suspect.Finding)
		}
		v.Confirmed += e.count
		if !v.addTo(t.Execution.Outcome, t.First, e) {
			v.Endings = append(v.Endings, Ending{Outcome: t.Execution.Outcome, First: t.First, Confirmed: true, Count: e.count, Trial: &t, delayed: e.delayed})
		}
		if e.before(first) {
			first = e
		}
	}
	b.otherPairs(&v.Finding)
	v.Timing = timing
	return v, first
}

// countWithout counts the executions that ended as some with a race did, but do not show it. ended has all executions of the program.
func (b *observation) countWithout(endings []Ending, ended map[endedKey]int) {
	for key, n := range ended {
		for shown, k := range b.shown {
			if shown.endedKey == key {
				n -= k
			}
		}
		for i := range endings {
			if n > 0 && endings[i].Outcome.Same(key.outcome) {
				endings[i].without += n
			}
		}
	}
}

// explains returns the failures that a race decides: each execution that failed so shows the race, and of the same tests, without
// it or with one order of its accesses, executions pass and none fails so. ended has all executions of the program.
func (b *observation) explains(ended map[endedKey]int) (failures []controlled.Outcome) {
	all, shown, withRace := map[controlled.Outcome]int{}, map[controlled.Outcome]int{}, map[endedKey]int{}
	for key, n := range ended {
		all[key.outcome] += n
	}
	for key, n := range b.shown {
		shown[key.outcome] += n
		withRace[key.endedKey] += n
	}
	decides := func(failed shownKey) bool {
		for key, n := range ended {
			if key.tests == failed.tests && key.outcome.Class == controlled.Passed && n > withRace[key] {
				return true
			}
		}
		for key := range b.shown {
			other := shownKey{failed.endedKey, key.first}
			if key.tests == failed.tests && key.outcome.Class == controlled.Passed && b.shown[other] == 0 {
				return true
			}
		}
		return false
	}
	for key := range b.shown {
		if key.outcome.Class.Failed() && shown[key.outcome] == all[key.outcome] && !slices.Contains(failures, key.outcome) && decides(key) {
			failures = append(failures, key.outcome)
		}
	}
	return failures
}

// addTo adds executions to those of an ending for the same reason, if there is one. Of one of the two, the place may not be known.
func (v *Result) addTo(outcome controlled.Outcome, first int, e *observedEnding) bool {
	for i := range v.Endings {
		if known := &v.Endings[i]; known.First == first && known.Outcome.Same(outcome) {
			known.Count += e.count
			known.delayed += e.delayed
			return true
		}
	}
	return false
}

// Results returns a result for each bug for which wanted returns true, in the order in which the
// first executions with them come.
func (o *Observations) Results(wanted func(*controlled.Program, *report.Finding) bool) (all []*Result) {
	firsts := map[*Result]*observedEnding{}
	for _, b := range o.known {
		v, first := b.result(o.made)
		b.countWithout(v.Endings, o.ended[v.Suspect.Program])
		if v.Finding.Kind == heisen.Race {
			v.Explains = b.explains(o.ended[v.Suspect.Program])
		}
		if wanted(v.Suspect.Program, &v.Finding) {
			all = append(all, v)
			firsts[v] = first
		}
	}
	slices.SortFunc(all, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.Suspect.Program.Path, b.Suspect.Program.Path), firsts[a].compare(firsts[b]),
			cmp.Compare(a.Finding.Fingerprint, b.Finding.Fingerprint))
	})
	return all
}

// SameBug reports whether a bug that was observed is a confirmed one, or belongs to it: a race of
// the same accesses, or a goroutine that waits for ever in a deadlock.
func SameBug(confirmed, observed *report.Finding) bool {
	switch {
	case confirmed.Detector != controlled.DetectorName || confirmed.Trials == nil || confirmed.Trials.Confirmed == 0:
		return false
	case confirmed.Kind == heisen.Race && observed.Kind == heisen.Race:
		return confirmed.Fingerprint == observed.Fingerprint || suspects.SamePair(confirmed, observed)
	case confirmed.Kind != heisen.Deadlock || observed.Kind != heisen.Leak:
		return false
	}
	for _, leak := range observed.EachPair() {
		if slices.ContainsFunc(confirmed.Accesses, func(a report.Access) bool { return suspects.SamePlace(&a, &leak.Accesses[0]) }) {
			return true
		}
	}
	return false
}
