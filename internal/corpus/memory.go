package corpus

import (
	"cmp"
	"slices"
	"time"

	"github.com/heisen-go/heisen/racefuzz"
)

// Memory is what is known of the tests of a package, or of a program.
type Memory struct {
	Package string
	// Program identifies the executable, and the flags that decide what is tried. Rounds and Tests are about that, and mean nothing
	// for another one.
	Program  string
	Rounds   uint64    // how many ranges of seeds were tried
	Tests    []Test    // by name, each once
	Findings []Finding // by fingerprint, each once
}

// Test is what is known of a test, or of a program as a whole.
type Test struct {
	Name       string // empty for a program, or all tests together
	Executions uint64 // of the search
	Took       time.Duration
	All        uint64 // the number of different executions, if all were made; otherwise 0
	// Behaviors and Orders are what the executions have done, as hashes that are equal in executions of the same program, ascending.
	Behaviors, Orders []uint64
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
	maxFindings = 200                  // the ones found last stay
	maxTests    = 10_000               // the first ones stay
	maxHashes   = 1 << 12              // of a kind for a test, the smallest ones stay
	allHashes   = 1 << 17              // of all tests together; if there are more, each has its share
	maxSchedule = 64 << 10             // bytes of a schedule
	MaxTurns    = 256                  // of an order
	maxPlaces   = 8                    // of a finding
	maxBytes    = 16 << 20             // of a file that is read
	maxText     = 1000                 // bytes of a name or a subject
	forgotten   = 365 * 24 * time.Hour // findings that are gone for so long go
)

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

// merged returns what a process knows now, with what others have added to what it knew before.
func (there *Memory) merged(before, now *Memory) *Memory {
	all := now.Clone()
	for _, f := range there.Findings {
		mine, known := all.Finding(f.Fingerprint), before.Finding(f.Fingerprint) != nil
		switch {
		case mine == nil && !known: // a finding of another process
			all.PutFinding(f)
		case mine != nil && mine.Schedule == nil && f.Schedule != nil:
			mine.Schedule, mine.Tests, mine.Order = f.Schedule, f.Tests, f.Order
		}
	}
	if there.Program != now.Program {
		return all
	}
	all.Rounds = max(all.Rounds, there.Rounds)
	for _, t := range there.Tests {
		mine := all.Test(t.Name)
		if mine == nil {
			all.PutTest(t)
			continue
		}
		if was := before.Test(t.Name); was != nil && before.Program == now.Program {
			t.Executions, t.Took = t.Executions-min(was.Executions, t.Executions), t.Took-min(was.Took, t.Took)
		}
		mine.Executions += t.Executions
		mine.Took += t.Took
		mine.All = max(mine.All, t.All)
		mine.Behaviors, mine.Orders = union(mine.Behaviors, t.Behaviors), union(mine.Orders, t.Orders)
	}
	return all
}

// union returns the numbers of both, ascending.
func union(a, b []uint64) []uint64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
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
	for i := range m.Tests {
		t := &m.Tests[i]
		t.Behaviors, t.Orders = t.Behaviors[:min(len(t.Behaviors), each)], t.Orders[:min(len(t.Orders), each)]
	}
}
