package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/report"
)

// testName is a test of a package.
type testName struct{ pkg, test string }

// placedReports puts the reports of findings between the events of go test, as output of the tests to
// which they belong.
//
// Events of go test may come later than the reports of what happened after them. A report therefore waits
// until its test is seen to begin. If its tests have ended, it waits for a test that fails because of it, as
// package testing fails the test that runs when a race is found. The end of the package releases what is
// left as output of the package.
type placedReports struct {
	tests   map[testName]testState
	waiting []waitingReport
	told    map[testName][]string // names of the findings whose reports a test has got
	ended   map[string]bool       // packages

	beginning int // tests in that state
}

type testState uint8

const (
	unseen testState = iota
	begins           // its first line of output is to come
	runs
	over
)

// waitingReport is a report that has no place yet.
type waitingReport struct {
	pkg, finding string
	tests        []string // of the goroutines of the finding, the one of the latest access first
	events       []testEvent
}

// raceDetected is in the line by which package testing fails a test during which findings were reported.
const raceDetected = "race detected during execution of test"

// testsOf returns the tests of a finding's goroutines, that of the latest access first.
func testsOf(f *report.Finding) (tests []string) {
	add := func(test string) {
		if test != "" && !slices.Contains(tests, test) {
			tests = append(tests, test)
		}
	}
	for _, a := range slices.Backward(f.Accesses) {
		add(a.Test)
	}
	for _, b := range f.Blocked {
		add(b.Test)
	}
	return tests
}

// add places a report. It returns the events to be written now.
func (p *placedReports) add(f *report.Finding, events []testEvent) []testEvent {
	r := waitingReport{f.Package, string(f.Kind) + " " + f.Fingerprint, testsOf(f), events}
	if f.Package == "" || p.ended[f.Package] {
		return events
	}
	for _, test := range r.tests {
		if at := (testName{f.Package, test}); p.tests[at] == runs {
			return p.give(r, at)
		}
	}
	p.waiting = append(p.waiting, r)
	return nil
}

// give makes a report output of a test.
func (p *placedReports) give(r waitingReport, at testName) []testEvent {
	if p.told == nil {
		p.told = map[testName][]string{}
	}
	p.told[at] = append(p.told[at], r.finding)
	for i := range r.events {
		r.events[i].Test = at.test
	}
	return r.events
}

// release takes the waiting reports of a package for which fits is true. A nil test makes them output of
// the package.
func (p *placedReports) release(pkg string, test *testName, fits func(*waitingReport) bool) (events []testEvent) {
	p.waiting = slices.DeleteFunc(p.waiting, func(r waitingReport) bool {
		if r.pkg != pkg || !fits(&r) {
			return false
		}
		if test != nil {
			events = append(events, p.give(r, *test)...)
		} else {
			events = append(events, r.events...)
		}
		return true
	})
	return events
}

// follow takes a line of go test. It returns the events to be written before and after it.
func (p *placedReports) follow(line []byte) (before, after []testEvent) {
	if len(p.waiting) == 0 && bytes.Contains(line, []byte(`"Action":"output"`)) && p.beginning == 0 {
		return nil, nil
	}
	var event testEvent
	if json.Unmarshal(line, &event) != nil || event.Package == "" {
		return nil, nil
	}
	if event.Test == "" {
		return p.followPackage(&event), nil
	}
	at := testName{event.Package, event.Test}
	own := func(r *waitingReport) bool { return slices.Contains(r.tests, event.Test) }
	switch event.Action {
	case "run":
		p.set(at, begins)
	case "output":
		if p.tests[at] == begins {
			p.set(at, runs)
			return nil, p.release(at.pkg, &at, own)
		}
		if strings.Contains(event.Output, raceDetected) {
			return p.release(at.pkg, &at, p.isLate), nil
		}
	case "pass", "fail", "skip":
		if p.tests[at] == begins {
			before = p.release(at.pkg, &at, own)
		}
		p.set(at, over)
		if event.Action != "fail" {
			after = p.pointTo(at)
		}
		delete(p.told, at)
	}
	return before, after
}

func (p *placedReports) set(at testName, state testState) {
	if p.tests == nil {
		p.tests = map[testName]testState{}
	}
	if p.tests[at] == begins {
		p.beginning--
	}
	if state == begins {
		p.beginning++
	}
	p.tests[at] = state
}

// isLate reports whether all tests of a report have ended.
func (p *placedReports) isLate(r *waitingReport) bool {
	return !slices.ContainsFunc(r.tests, func(test string) bool { return p.tests[testName{r.pkg, test}] != over })
}

// pointTo returns output of the package that says which reports are in that of a test that has not
// failed: readers do not show it.
func (p *placedReports) pointTo(at testName) (events []testEvent) {
	for _, finding := range p.told[at] {
		output := fmt.Sprintf("%s: the report is in the output of %s, which has not failed\n", finding, at.test)
		events = append(events, testEvent{Package: at.pkg, Output: output})
	}
	return events
}

// followPackage takes an event of a package.
func (p *placedReports) followPackage(event *testEvent) (before []testEvent) {
	switch event.Action {
	case "start":
		delete(p.ended, event.Package)
	case "pass", "fail", "skip":
		before = p.release(event.Package, nil, func(*waitingReport) bool { return true })
		if p.ended == nil {
			p.ended = map[string]bool{}
		}
		p.ended[event.Package] = true
		for at := range p.tests {
			if at.pkg == event.Package {
				p.set(at, over)
				delete(p.tests, at)
			}
		}
	}
	return before
}

// rest releases what is still waiting, as output of its packages.
func (p *placedReports) rest() (events []testEvent) {
	for _, r := range p.waiting {
		events = append(events, r.events...)
	}
	p.waiting = nil
	return events
}
