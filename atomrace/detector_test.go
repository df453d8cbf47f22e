package atomrace_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/section"
)

// brief is a finding in short: the accesses as thread, op and site.
func brief(f heisen.Finding) string {
	letters := map[heisen.Op]string{
		heisen.Read: "r", heisen.Write: "w",
		heisen.AtomicRead: "ar", heisen.AtomicWrite: "aw", heisen.AtomicUpdate: "au",
	}
	var sides []string
	for _, a := range f.Accesses {
		sides = append(sides, fmt.Sprintf("%d%s%d", a.Thread, letters[a.Op], a.Site))
	}
	return string(f.Kind) + " " + strings.Join(sides, " ")
}

func newDetector(t testing.TB, sink heisen.Sink, options ...atomrace.DetectorOption) *atomrace.Detector {
	t.Helper()
	d, err := atomrace.NewDetector(append([]atomrace.DetectorOption{atomrace.WithSink(sink)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// call is one call of a Detector, or one event of a stream.
type call struct {
	thread heisen.Thread
	what   string // before, after or exit; an access that is before and after at once
	op     heisen.Op
	object heisen.Object
	site   heisen.Site
}

func before(t heisen.Thread, op heisen.Op, o heisen.Object, s heisen.Site) call {
	return call{t, "before", op, o, s}
}

func after(t heisen.Thread) call { return call{thread: t, what: "after"} }

func exit(t heisen.Thread, o heisen.Object) call { return call{thread: t, what: "exit", object: o} }

// whole is an access from before to after.
func whole(t heisen.Thread, op heisen.Op, o heisen.Object, s heisen.Site) call {
	return call{t, "whole", op, o, s}
}

// drive makes calls.
func drive(d *atomrace.Detector, calls []call) {
	for _, c := range calls {
		switch c.what {
		case "after":
			d.AfterAccess(c.thread)
		case "exit":
			d.AtomExit(c.thread, c.object)
		default:
			d.BeforeAccess(c.thread, c.object, c.site, c.op)
			if c.what == "whole" {
				d.AfterAccess(c.thread)
			}
		}
	}
}

// events are calls as a stream, which has no exits.
func events(calls []call) (records []heisen.Record) {
	for _, c := range calls {
		if c.what == "exit" {
			panic("an exit is no event")
		}
		if c.what != "after" {
			records = append(records, heisen.Record{Op: c.op, Thread: c.thread, Object: c.object, Site: c.site})
		}
		if c.what != "before" {
			records = append(records, heisen.Record{Op: heisen.Done, Thread: c.thread, Object: c.object})
		}
	}
	return records
}

// bothWays returns the findings of calls, and requires that they are those of the
// stream.
func bothWays(t *testing.T, calls []call, options ...atomrace.DetectorOption) []string {
	t.Helper()
	var direct, streamed []string
	d := newDetector(t, func(f heisen.Finding) { direct = append(direct, brief(f)) }, options...)
	drive(d, calls)
	if !slices.ContainsFunc(calls, func(c call) bool { return c.what == "exit" }) {
		s := newDetector(t, func(f heisen.Finding) { streamed = append(streamed, brief(f)) }, options...)
		s.HandleRecords(events(calls))
		if !slices.Equal(direct, streamed) {
			t.Errorf("by calls %q, as a stream %q", direct, streamed)
		}
		if err := s.Flush(); err != nil {
			t.Error(err)
		}
	}
	return direct
}

const (
	read, write         = heisen.Read, heisen.Write
	atomicRead          = heisen.AtomicRead
	atomicWrite, update = heisen.AtomicWrite, heisen.AtomicUpdate
)

// TestFigure2 walks through the algorithm for races.
func TestFigure2(t *testing.T) {
	const x, y = 8, 16
	for name, test := range map[string]struct {
		calls []call
		want  string // findings, or those by default
		slot  string // those with a single slot, if they are others
	}{
		"a write broken by a read":  {[]call{before(1, write, x, 1), before(2, read, x, 2)}, "race 1w1 2r2", ""},
		"a read broken by a write":  {[]call{before(1, read, x, 1), before(2, write, x, 2)}, "race 1r1 2w2", ""},
		"a write broken by a write": {[]call{before(1, write, x, 1), before(2, write, x, 2)}, "race 1w1 2w2", ""},
		"two reads":                 {[]call{before(1, read, x, 1), before(2, read, x, 2)}, "", ""},
		"one after the other":       {[]call{whole(1, write, x, 1), whole(2, write, x, 2), whole(1, read, x, 3)}, "", ""},
		"two variables":             {[]call{before(1, write, x, 1), before(2, write, y, 2)}, "", ""},
		"a second reader": {
			[]call{before(1, read, x, 1), before(2, read, x, 2), after(1), before(3, write, x, 3)},
			"race 2r2 3w3", "-",
		},
		"two readers": {
			[]call{before(1, read, x, 1), before(2, read, x, 2), before(3, write, x, 3)},
			"race 1r1 3w3, race 2r2 3w3", "race 1r1 3w3",
		},
		"the next access ends the last": {[]call{before(1, write, x, 1), before(1, write, y, 2), before(2, write, x, 3)}, "", ""},
		"atomics are gone at once":      {[]call{whole(1, atomicWrite, x, 1), before(2, write, x, 2)}, "", ""},
		"atomics among themselves":      {[]call{whole(1, update, x, 1), whole(2, atomicRead, x, 2)}, "", ""},
		"an atomic meets a plain one":   {[]call{before(1, write, x, 1), whole(2, atomicRead, x, 2)}, "race 1w1 2ar2", ""},
		"once":                          {[]call{before(1, write, x, 1), before(2, read, x, 2), after(2), before(2, read, x, 2), before(3, read, x, 2)}, "race 1w1 2r2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(bothWays(t, test.calls), ", "); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
			want := test.want
			if test.slot != "" {
				want = strings.Trim(test.slot, "-")
			}
			if got := strings.Join(bothWays(t, test.calls, atomrace.WithSingleSlot()), ", "); got != want {
				t.Errorf("with a single slot %q, want %q", got, want)
			}
		})
	}
}

// at is a locator in which site n is line n of file f.
var at = section.Locator{Site: func(s heisen.Site) (string, int, string) { return "f", int(s), "" }}

func place(line int, m section.Modes) section.Location {
	return section.Location{File: "f", Line: line, Mode: m}
}

// section leads from line entry to line end.
func sectionAt(entry int, first section.Modes, end int, last section.Modes) section.Section {
	return section.Section{
		Entry: place(entry, first),
		Ends:  []section.End{{At: place(end, last), Allow: section.Allowed(first, last)}},
	}
}

// TestScenarios has the eight interleavings of two local accesses and a remote one. The
// four of table 1 are violations, the others are not; with atomic operations too.
func TestScenarios(t *testing.T) {
	ops := map[section.Modes][]heisen.Op{
		section.Reads:  {read, atomicRead},
		section.Writes: {write, atomicWrite, update},
	}
	both := []section.Modes{section.Reads, section.Writes}
	violations := 0
	for _, first := range both {
		for _, remote := range both {
			for _, last := range both {
				i := section.Interleaving{First: first, Remote: remote, Last: last}
				sections := []section.Section{sectionAt(1, first, 2, last)}
				for k := range 3 {
					a, b, c := ops[first][k%len(ops[first])], ops[remote][k%len(ops[remote])], ops[last][k%len(ops[last])]
					var messages []string
					calls := []call{whole(1, a, 8, 1), whole(2, b, 8, 9), whole(1, c, 8, 2)}
					got := bothWays(t, calls, atomrace.WithSections(sections, at))
					d := newDetector(t, func(f heisen.Finding) { messages = append(messages, f.Message) }, atomrace.WithSections(sections, at))
					drive(d, calls)
					switch {
					case i.Serializable() && len(got) != 0:
						t.Errorf("%v: found %q", i, got)
					case !i.Serializable() && (len(got) != 1 || !strings.HasPrefix(got[0], "atomicity 1") || !strings.HasSuffix(messages[0], "of an atomic section, "+i.String())):
						t.Errorf("%v: found %q, %q", i, got, messages)
					case !i.Serializable():
						violations++
					}
				}
			}
		}
	}
	if violations != 4*3 {
		t.Errorf("%d violations", violations)
	}
}

// TestFigure3 walks through the algorithm for sections. What package internal/core/atomrace's tests
// show of the sections themselves is not repeated.
func TestFigure3(t *testing.T) {
	const x, y = 8, 16
	const r, w = section.Reads, section.Writes
	loadStore := sectionAt(1, r, 2, w)
	branches := loadStore
	branches.Ends = append(slices.Clone(branches.Ends),
		section.End{At: place(3, r), Allow: r}, section.End{At: place(4, w), Allow: r | w})
	circular := section.Section{Entry: place(1, r), Circular: true, Ends: []section.End{{At: place(1, r), Allow: r}}}
	recursive := loadStore
	recursive.Recursive = true
	strict := sectionAt(1, w, 2, w)
	strict.Ends[0].Allow = 0
	for name, test := range map[string]struct {
		sections []section.Section
		calls    []call
		want     string
	}{
		"a remote write": {[]section.Section{loadStore},
			[]call{whole(1, read, x, 1), whole(2, write, x, 8), whole(1, write, x, 2)}, "atomicity 1r1 2w8 1w2"},
		"a remote read": {[]section.Section{loadStore},
			[]call{whole(1, read, x, 1), whole(2, read, x, 8), whole(1, write, x, 2)}, ""},
		"before and after": {[]section.Section{loadStore},
			[]call{whole(2, write, x, 8), whole(1, read, x, 1), whole(1, write, x, 2), whole(2, write, x, 8)}, ""},
		"the same line in the other mode": {[]section.Section{loadStore},
			[]call{whole(1, write, x, 1), whole(2, write, x, 8), whole(1, read, x, 2)}, ""},
		"another variable": {[]section.Section{loadStore},
			[]call{whole(1, read, x, 1), whole(2, write, y, 8), whole(1, write, x, 2)}, ""},
		"the first suspects, in order": {[]section.Section{strict},
			[]call{whole(1, write, x, 1), whole(3, write, x, 7), whole(2, read, x, 8), whole(4, read, x, 9), whole(1, write, x, 2)},
			"atomicity 1w1 3w7 2r8 1w2"},
		"and in the other": {[]section.Section{strict},
			[]call{whole(1, write, x, 1), whole(2, read, x, 8), whole(3, write, x, 7), whole(1, write, x, 2)},
			"atomicity 1w1 2r8 3w7 1w2"},
		"several ends": {[]section.Section{branches},
			[]call{
				whole(1, read, x, 1), whole(2, write, x, 8), whole(1, write, x, 4), whole(1, write, x, 2),
				whole(1, read, x, 1), whole(2, write, x, 9), whole(1, read, x, 3), whole(1, write, x, 2),
			}, "atomicity 1r1 2w9 1r3"},
		"the end of one is the entry of the next": {[]section.Section{loadStore, sectionAt(2, w, 3, r)},
			[]call{whole(1, read, x, 1), whole(2, write, x, 7), whole(1, write, x, 2), whole(2, write, x, 8), whole(1, read, x, 3)},
			"atomicity 1r1 2w7 1w2, atomicity 1w2 2w8 1r3"},
		"circular": {[]section.Section{circular},
			[]call{whole(1, read, x, 1), whole(2, write, x, 8), whole(1, read, x, 1), whole(1, read, x, 1)},
			"atomicity 1r1 2w8 1r1"},
		"recursive": {[]section.Section{recursive},
			[]call{whole(1, read, x, 1), whole(1, read, x, 1), whole(1, write, x, 2), whole(2, write, x, 8), whole(1, write, x, 2)},
			"atomicity 1r1 2w8 1w2"},
		"atomExit": {[]section.Section{loadStore},
			[]call{whole(1, read, x, 1), whole(1, read, y, 1), whole(2, write, x, 8), whole(2, write, y, 9), exit(1, x), whole(1, write, x, 2), whole(1, write, y, 2)},
			"atomicity 1r1 2w9 1w2"},
		"the sections of several threads": {[]section.Section{loadStore},
			[]call{whole(1, read, x, 1), whole(2, read, x, 1), whole(1, write, x, 2), whole(2, write, x, 2)},
			"atomicity 2r1 1w2 2w2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(bothWays(t, test.calls, atomrace.WithSections(test.sections, at)), ", "); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// TestNames: sections are for variables by name, where names are known, and for none
// where they are needed and are not.
func TestNames(t *testing.T) {
	const r, w = section.Reads, section.Writes
	a, b := sectionAt(1, r, 2, w), sectionAt(1, r, 3, w)
	a.Variable, b.Variable = "a.*", "b.n"
	for _, test := range []struct {
		sections []section.Section
		variable string
		end      heisen.Site
		want     int
	}{
		{[]section.Section{a, b}, "a.n", 2, 1},
		{[]section.Section{a, b}, "b.n", 2, 0},
		{[]section.Section{a, b}, "b.n", 3, 1},
		{[]section.Section{a, b}, "c.n", 3, 0},
		{[]section.Section{a, b}, "", 2, 0},
		{[]section.Section{a}, "", 2, 1},
		{[]section.Section{a}, "c.n", 2, 0},
	} {
		locator := section.Locator{Site: func(s heisen.Site) (string, int, string) { return "f", int(s), test.variable }}
		got := bothWays(t, []call{whole(1, read, 8, 1), whole(2, write, 8, 8), whole(1, write, 8, test.end)},
			atomrace.WithSections(test.sections, locator))
		if len(got) != test.want {
			t.Errorf("%+v: found %q", test, got)
		}
	}
}

func TestOptions(t *testing.T) {
	ok := []section.Section{sectionAt(1, section.Reads, 2, section.Writes)}
	for name, option := range map[string]atomrace.DetectorOption{
		"option 1 is nil":                   nil,
		"noise is nil":                      atomrace.WithNoise(nil),
		"-1 findings":                       atomrace.WithDedup(-1),
		"no function Site":                  atomrace.WithSections(ok, section.Locator{}),
		"invalid atomic sections":           atomrace.WithSections([]section.Section{{}}, at),
		"invalid atomic sections: 4097 are": atomrace.WithSections(make4097(), at),
	} {
		d, err := atomrace.NewDetector(option)
		if d != nil || err == nil || !strings.Contains(err.Error(), name) || !strings.HasPrefix(err.Error(), "atomrace.NewDetector: ") || !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%s: error %v", name, err)
		}
		if strings.Contains(name, "invalid") && !errors.Is(err, section.ErrInvalid) {
			t.Errorf("%s: %v is no ErrInvalid", name, err)
		}
	}
	if _, err := atomrace.NewDetector(atomrace.WithSections(ok, at), atomrace.WithSections(ok, at)); err == nil {
		t.Error("sections are taken twice")
	}
}

func make4097() (all []section.Section) {
	for i := range 4097 {
		all = append(all, sectionAt(2*i+1, section.Reads, 2*i+2, section.Writes))
	}
	return all
}

// TestRoom: more places than there is room for are an error of Flush, and no panic.
func TestRoom(t *testing.T) {
	var sections []section.Section
	for i := range 2000 {
		s := sectionAt(2*i+1, section.Reads, 2*i+2, section.Writes)
		s.Variable = "v?"
		sections = append(sections, s)
	}
	for i := range 2000 { // the same lines, for others
		s := sectionAt(2*i+1, section.Reads, 2*i+2, section.Writes)
		s.Variable = "w"
		sections = append(sections, s)
	}
	n := 0
	locator := section.Locator{Site: func(s heisen.Site) (string, int, string) {
		n++
		return "f", int(s)%4000 + 1, []string{"v1", "w"}[n/4000%2]
	}}
	d := newDetector(t, nil, atomrace.WithSections(sections, locator))
	for s := range heisen.Site(20000) {
		d.HandleRecords([]heisen.Record{{Op: read + heisen.Op(s%2), Object: 8, Site: s}})
	}
	if err := d.Flush(); !errors.Is(err, section.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

// TestDedup: what is reported once, and again after too much else.
func TestDedup(t *testing.T) {
	for bound, want := range map[int]int{0: 40, 1: 40, 4096: 2} {
		n := 0
		d := newDetector(t, func(heisen.Finding) { n++ }, atomrace.WithDedup(bound))
		for range 20 {
			drive(d, []call{before(1, write, 8, 1), whole(2, write, 8, 2), before(3, write, 16, 3), whole(2, write, 16, 4), after(3)})
		}
		if n != want {
			t.Errorf("with a bound of %d %d findings, want %d", bound, n, want)
		}
	}
}

// waiting is a noise that waits for somebody else to come.
type waiting struct {
	at   heisen.Site
	wait func()
}

func (w waiting) Delay(p atomrace.Point) atomrace.Delay {
	if p.Site == w.at {
		w.wait()
	}
	return atomrace.Delay{}
}

// TestNoise: the access is pending while there is noise.
func TestNoise(t *testing.T) {
	var found []string
	come, gone := make(chan bool), make(chan bool)
	noise := waiting{1, func() { come <- true; <-gone }}
	d := newDetector(t, func(f heisen.Finding) { found = append(found, brief(f)) }, atomrace.WithNoise(noise))
	go func() {
		<-come
		d.BeforeAccess(2, 8, 2, write)
		d.AfterAccess(2)
		close(gone)
	}()
	d.BeforeAccess(1, 8, 1, read)
	d.AfterAccess(1)
	if !slices.Equal(found, []string{"race 1r1 2w2"}) {
		t.Errorf("found %q", found)
	}
	// And one of the heuristics, for its time.
	h, err := atomrace.NewRandomNoise(atomrace.WithStrength(atomrace.MaxStrength), atomrace.WithSleep(time.Microsecond))
	if err != nil {
		t.Fatal(err)
	}
	d = newDetector(t, nil, atomrace.WithNoise(h))
	left := h.Remaining()
	d.BeforeAccess(1, 8, 1, read)
	if h.Remaining() >= left {
		t.Error("there was no noise")
	}
}

// TestLocked has goroutines that really access variables under a lock, and says so.
// There is nothing to find: not in sections within a critical section either.
func TestLocked(t *testing.T) {
	d := newDetector(t, func(f heisen.Finding) { t.Error(brief(f)) },
		atomrace.WithSections([]section.Section{sectionAt(1, section.Reads, 2, section.Writes)}, at))
	var mu sync.Mutex
	var shared [4]int
	var wg sync.WaitGroup
	for id := range heisen.Thread(4) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(id), 1))
			for range 3000 {
				i := rng.IntN(len(shared))
				mu.Lock()
				d.BeforeAccess(id, heisen.Object(8*i), 1, read)
				v := shared[i]
				d.AfterAccess(id)
				if rng.IntN(10) == 0 {
					runtime.Gosched()
				}
				d.BeforeAccess(id, heisen.Object(8*i), 2, write)
				shared[i] = v + 1
				d.AfterAccess(id)
				mu.Unlock()
				// A variable of its own, and one that all only read.
				d.BeforeAccess(id, heisen.Object(1000+8*id), 3, write)
				d.BeforeAccess(id, 2000, 4, read)
				d.AfterAccess(id)
			}
			d.EndThread(id)
		}()
	}
	wg.Wait()
	if sum := shared[0] + shared[1] + shared[2] + shared[3]; sum != 4*3000 {
		t.Errorf("counted %d", sum)
	}
}

// TestRacy has goroutines that say that they access variables, without a lock. What is
// found must have overlapped, by stamps that are taken outside of the calls.
func TestRacy(t *testing.T) {
	const threads, each = 4, 2000
	type span struct{ from, to uint64 }
	var clock, arrived atomic.Uint64
	var spans [threads][each]span
	var found []heisen.Finding
	d := newDetector(t, func(f heisen.Finding) { found = append(found, f) }, atomrace.WithDedup(0))
	var wg sync.WaitGroup
	for id := range heisen.Thread(threads) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(id), 2))
			for n := range uint64(each) {
				s := &spans[id][n]
				s.from = clock.Add(1)
				d.BeforeAccess(id, heisen.Object(8*rng.IntN(3)), heisen.Site(n+1), read+heisen.Op(rng.IntN(2)))
				if n%100 == 0 { // all are in an access now
					for arrived.Add(1); arrived.Load() < threads*(n/100+1); {
						runtime.Gosched()
					}
				}
				d.AfterAccess(id)
				s.to = clock.Add(1)
			}
		}()
	}
	wg.Wait()
	if len(found) == 0 {
		t.Error("found nothing")
	}
	for _, f := range found {
		a, b := f.Accesses[0], f.Accesses[1]
		s, u := spans[a.Thread][a.Site-1], spans[b.Thread][b.Site-1]
		if f.Kind != heisen.Race || a.Thread == b.Thread || a.Object != b.Object || !a.Op.Conflicts(b.Op) {
			t.Fatalf("no race: %+v", f)
		}
		if s.to < u.from || u.to < s.from {
			t.Fatalf("%+v at %v and %v", f, s, u)
		}
	}
	t.Logf("%d overlaps, missed %+v", len(found), d.Missed())
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	sections := atomrace.WithSections([]section.Section{sectionAt(1, section.Reads, 2, section.Writes)}, at)
	calls := []call{
		whole(1, read, 8, 1), whole(2, write, 8, 9), whole(1, write, 8, 2), // a violation
		before(1, write, 16, 3), whole(2, read, 16, 4), after(1), // a race
		whole(3, update, 24, 5),
	}
	stream := events(calls)
	for i := range stream {
		stream[i].Context, stream[i].Len = heisen.Context(1+i%3), uint16(i*3)
	}
	stream = append(stream, heisen.Record{Op: heisen.End, Thread: 1}, heisen.Record{Op: heisen.Free, Value: 1000})
	located := at
	located.Depth = func(c heisen.Context) int { return int(c) }
	s := newDetector(t, nil, atomrace.WithSections([]section.Section{sectionAt(1, section.Reads, 2, section.Writes)}, located))
	d := newDetector(t, nil, sections)
	for name, once := range map[string]func(){
		"calls":  func() { drive(d, calls) },
		"stream": func() { s.HandleRecords(stream) },
	} {
		once()
		if n := testing.AllocsPerRun(100, once); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
