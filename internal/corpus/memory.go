package corpus

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/heisen-go/heisen/racefuzz"
)

// Memory is what is known of the tests of a package, or of a program.
type Memory struct {
	Package string
	// Runs counts the runs that came one after the other. It orders what they say: those that began from the same memory have the same
	// number.
	Runs uint64
	// Program identifies the executable, and the flags that decide what is tried. Rounds and Tests are about that, and mean nothing
	// for another one.
	Program  string
	Used     uint64    // the last run that had the program
	Rounds   uint64    // how many ranges of seeds were tried
	Tests    []Test    // by name, each once
	Findings []Finding // by fingerprint, each once
}

// Test is what is known of a test, or of a program as a whole.
type Test struct {
	Name       string // empty for a program, or all tests together
	Executions uint64 // of the search, before the run of Work
	Took       time.Duration
	Run        uint64 // the last one that searched the test; 0 if that is not known
	Work       []Work // in that run, by ID, each once
	All        uint64 // the number of different executions, if all were made; otherwise 0
	// Behaviors and Orders are what the executions have done, as hashes that are equal in executions of the same program, ascending.
	Behaviors, Orders []uint64
}

// Work is what one process has done for a test in a run. Its ID is equal if the same work was done again, or more of it, and so that counts
// once.
type Work struct {
	ID         string // hexadecimal
	Executions uint64
	Took       time.Duration
}

// Total returns the executions of all runs and their time.
func (t *Test) Total() (executions uint64, took time.Duration) {
	executions, took = t.Executions, t.Took
	for _, w := range t.Work {
		executions, took = min(executions+w.Executions, maxMade), min(took+w.Took, maxTook)
	}
	return executions, took
}

// Add adds what a process has done in a run. It ends the accounts of earlier runs, which are one number from then on.
func (t *Test) Add(run uint64, w Work) {
	if run != t.Run {
		t.Executions, t.Took = t.Total()
		t.Run, t.Work = run, nil
	}
	t.Work = joinWork(t.Work, []Work{w})
}

// Finding is a finding that was reported.
type Finding struct {
	Fingerprint string // hexadecimal
	Subject     string // what it is about, on a line
	First       Day    // when it was found first
	Last        Day    // when it was found the last time
	Gone        Day    // since when runs that looked for it have not found it; empty if the last one has
	// Fixed is set if such a run has repeated the execution of the schedule, and that did not show it.
	Fixed   bool
	Harmful bool   // executions have shown that it does harm
	Stated  uint64 // the last run that has found it, or has looked for it in vain
	Found   uint64 // the last run that has found it, of which the rest is
	Tests   string // which tests the schedule runs, as -test.run takes it; empty for all
	// Schedule shows the finding. It has neither a program nor arguments. It is nil if there is none, or if it was too long.
	Schedule *racefuzz.Schedule
	// Order is the order of operations in the execution of Schedule, for programs with other steps. It has no Turns if it is not known.
	Order Order
}

// Order is the order of the operations of an execution, by their places.
type Order struct {
	Whole  bool     // nothing but the order of operations was chosen: no case of a select statement, and no time that passes
	Places []Anchor // the accesses of a race
	Turns  []Turn
}

// Turn is a part of an execution in which one goroutine makes operations of the program, and no other one does.
type Turn struct {
	Thread      uint32 // tells goroutines apart; they are numbered in the order in which they were created
	First, Last Anchor
}

// Anchor is the place of an operation of a goroutine.
type Anchor struct {
	Op   string // what heisen.Op.String returns
	Func string // that is declared; function literals in it count as part of it
	Text uint32 // a hash of the line there
	// Nth is how many equal operations on such a line of the function the goroutine has made before, Of how many in the function.
	Nth, Of uint32
}

// Day is a day in the form 2006-01-02, or empty.
type Day string

// DayOf returns the day of a time, in UTC.
func DayOf(t time.Time) Day { return Day(t.UTC().Format(time.DateOnly)) }

// Bounds of a memory.
const (
	maxFindings = 200      // the ones found last stay
	maxTests    = 10_000   // the first ones stay
	maxHashes   = 1 << 12  // of a kind for a test, the smallest ones stay
	allHashes   = 1 << 17  // of all tests together; if there are more, each has its share
	maxWork     = 1 << 12  // of a test
	allWork     = 1 << 16  // of all tests together, as with allHashes
	maxSchedule = 64 << 10 // bytes of a schedule
	MaxTurns    = 256      // of an order
	maxPlaces   = 8        // of a finding
	maxBytes    = 16 << 20 // of a file that is read
	maxRuns     = 1<<48 - 1
	maxMade     = 1<<48 - 1            // executions of a test
	maxTook     = math.MaxInt64 / 4    // of a test, in ns
	maxText     = 1000                 // bytes of a name or a subject
	forgotten   = 365 * 24 * time.Hour // findings that are gone for so long go
)

// Begin begins a run of an executable. What is known of another one means nothing for it.
func (m *Memory) Begin(program string) {
	m.Runs = min(m.Runs+1, maxRuns)
	if m.Program != program {
		m.Program, m.Rounds, m.Tests = program, 0, nil
	}
	m.Used = m.Runs
}

// Test returns what is known of a test, or nil.
func (m *Memory) Test(name string) *Test {
	if i, found := slices.BinarySearchFunc(m.Tests, name, func(t Test, name string) int { return cmp.Compare(t.Name, name) }); found {
		return &m.Tests[i]
	}
	return nil
}

// Finding returns the finding with a fingerprint, or nil.
func (m *Memory) Finding(fingerprint string) *Finding {
	i, found := slices.BinarySearchFunc(m.Findings, fingerprint, func(f Finding, fingerprint string) int { return cmp.Compare(f.Fingerprint, fingerprint) })
	if found {
		return &m.Findings[i]
	}
	return nil
}

// PutTest adds what is known of a test, or replaces it.
func (m *Memory) PutTest(t Test) {
	i, found := slices.BinarySearchFunc(m.Tests, t, func(a, b Test) int { return cmp.Compare(a.Name, b.Name) })
	if found {
		m.Tests[i] = t
	} else {
		m.Tests = slices.Insert(m.Tests, i, t)
	}
}

// PutFinding adds a finding, or replaces it.
func (m *Memory) PutFinding(f Finding) {
	i, found := slices.BinarySearchFunc(m.Findings, f, func(a, b Finding) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	if found {
		m.Findings[i] = f
	} else {
		m.Findings = slices.Insert(m.Findings, i, f)
	}
}

// Without removes a finding.
func (m *Memory) Without(fingerprint string) {
	m.Findings = slices.DeleteFunc(m.Findings, func(f Finding) bool { return f.Fingerprint == fingerprint })
}

// Clone returns a copy, which shares schedules.
func (m *Memory) Clone() *Memory {
	one := *m
	one.Tests, one.Findings = slices.Clone(m.Tests), slices.Clone(m.Findings)
	return &one
}

// bound makes the memory as small as it is to be.
func (m *Memory) bound() {
	limit := DayOf(time.Now().Add(-forgotten))
	m.Findings = slices.DeleteFunc(m.Findings, func(f Finding) bool { return f.Gone != "" && f.Gone < limit })
	if len(m.Findings) > maxFindings {
		slices.SortStableFunc(m.Findings, func(a, b Finding) int { return cmp.Compare(b.Last, a.Last) })
		m.Findings = m.Findings[:maxFindings]
		slices.SortFunc(m.Findings, func(a, b Finding) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	}
	m.Tests = m.Tests[:min(len(m.Tests), maxTests)]
	each := min(maxHashes, allHashes/max(2*len(m.Tests), 1))
	work := min(maxWork, allWork/max(len(m.Tests), 1))
	for i := range m.Tests {
		t := &m.Tests[i]
		for _, w := range t.Work[min(len(t.Work), work):] {
			t.Executions, t.Took = min(t.Executions+w.Executions, maxMade), min(t.Took+w.Took, maxTook)
		}
		t.Work = t.Work[:min(len(t.Work), work)]
		t.Behaviors, t.Orders = t.Behaviors[:min(len(t.Behaviors), each)], t.Orders[:min(len(t.Orders), each)]
	}
}
