package trials

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
)

// Tally is how the executions of a test have ended, by itself and among other tests of its process.
type Tally struct {
	Test     string
	Passed   Ends
	Failures []TalliedFailure // the most frequent first
}

// TalliedFailure is a way in which executions of a test failed.
type TalliedFailure struct {
	Outcome controlled.Outcome // of one of them, without numbers
	Ends
}

// Ends are numbers of executions: all, and those of them that had no other test.
type Ends struct{ All, Alone int }

func (e *Ends) add(n int, alone bool) {
	e.All += n
	if alone {
		e.Alone += n
	}
}

// Failed returns how many executions failed.
func (t *Tally) Failed() (all Ends) {
	for _, f := range t.Failures {
		all.All += f.All
		all.Alone += f.Alone
	}
	return all
}

// tallyKey says which tests an execution had, how it ended, without numbers, and which tests failed.
type tallyKey struct {
	tests   string
	outcome controlled.Outcome
	failed  string // as in Outcome.Tests
}

// Tally adds an execution that counts in tallies only: earlier campaigns have judged it, among others.
func (o *Observations) Tally(s *suspects.Suspect, t *Trial) { o.tally(s.Program, s.Tests, t) }

func (o *Observations) tally(p *controlled.Program, tests string, t *Trial) {
	if o.tallied == nil {
		o.tallied = map[*controlled.Program]map[tallyKey]int{}
	}
	if o.tallied[p] == nil {
		o.tallied[p] = map[tallyKey]int{}
	}
	outcome := t.Execution.Outcome
	o.tallied[p][tallyKey{tests, outcome.Identity(), outcome.Tests}]++
}

// Tallies returns a tally for each test of a program that failed in some executions, sorted by names. If a process with several tests has
// ended in the middle of them, that says nothing of any.
func (o *Observations) Tallies(p *controlled.Program) (all []*Tally) {
	by, scopes := map[string]*Tally{}, map[string]scope{}
	for key, n := range o.tallied[p] {
		of, known := scopes[key.tests]
		if !known {
			of = scopeOf(p, key.tests)
			scopes[key.tests] = of
		}
		failures := key.failures(of)
		for test, outcome := range failures {
			if by[test] == nil {
				by[test] = &Tally{Test: test}
			}
			by[test].fail(outcome, n, of.only != "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		t := by[name]
		for key, n := range o.tallied[p] {
			if of := scopes[key.tests]; of.has(name) && key.passed(name) {
				t.Passed.add(n, of.only != "")
			}
		}
		slices.SortFunc(t.Failures, func(a, b TalliedFailure) int {
			return cmp.Or(b.All-a.All, cmp.Compare(a.Outcome.String(), b.Outcome.String()), cmp.Compare(a.Outcome.Place, b.Outcome.Place),
				cmp.Compare(a.Outcome.Waits, b.Outcome.Waits))
		})
		all = append(all, t)
	}
	return all
}

// failures returns how the tests have failed.
func (k *tallyKey) failures(of scope) map[string]controlled.Outcome {
	failures := map[string]controlled.Outcome{}
	switch {
	case k.outcome.Class == controlled.TestFailed:
		for name := range strings.Lines(k.failed) {
			name = strings.TrimSpace(name)
			test := controlled.TopLevel(name)
			if first := failures[test]; first.Message == "" || strings.HasPrefix(name, first.Message+"/") { // its subtests come after it
				failures[test] = controlled.Outcome{Class: controlled.TestFailed, Message: name}
			}
		}
		for test, o := range failures {
			failures[test] = o.Identity()
		}
		failures[controlled.TopLevel(k.outcome.Message)] = k.outcome // with its place
	case k.outcome.Class.Failed() && of.only != "":
		failures[of.only] = k.outcome
	}
	return failures
}

// passed reports whether a test has passed that the executions had.
func (k *tallyKey) passed(test string) bool {
	return k.outcome.Class == controlled.Passed ||
		k.outcome.Class == controlled.TestFailed && !slices.Contains(strings.Split(k.failed, "\n"), test)
}

// fail counts executions that failed.
func (t *Tally) fail(outcome controlled.Outcome, n int, alone bool) {
	i := slices.IndexFunc(t.Failures, func(f TalliedFailure) bool { return f.Outcome.Same(outcome) })
	if i < 0 {
		i = len(t.Failures)
		t.Failures = append(t.Failures, TalliedFailure{Outcome: outcome})
	}
	t.Failures[i].add(n, alone)
}

// scope says which tests executions had.
type scope struct {
	only string // the one; empty if there may be several
	has  func(test string) bool
}

// scopeOf returns the scope of tests as in Suspect.
func scopeOf(p *controlled.Program, tests string) scope {
	s := scope{has: func(string) bool { return true }}
	if matches, err := regexp.Compile(tests); err == nil && tests != "" {
		s.has = matches.MatchString
	}
	n := 0
	for _, u := range p.Units {
		if u.Test == "" {
			return s
		}
		if s.has(u.Test) {
			n++
			s.only = u.Test
		}
	}
	if n > 1 {
		s.only = ""
	}
	return s
}
