package lockset_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/lockset"
)

// The objects and threads of the traces below.
const (
	x, y, z heisen.Object = 8, 16, 24
	l, m    heisen.Object = 1 << 20, 1<<20 + 64
	ch      heisen.Object = 1 << 21
)

func do(t heisen.Thread, op heisen.Op, o heisen.Object, site heisen.Site) heisen.Record {
	return heisen.Record{Thread: t, Op: op, Object: o, Site: site}
}

// The example programs of RaceFuzzer, in which thread 0 initialises and starts
// threads 1 and 2. Sites are the papers' line numbers.
var (
	start = []heisen.Record{
		do(0, heisen.Write, x, 100), do(0, heisen.Write, y, 100), do(0, heisen.Write, z, 100),
		do(0, heisen.Fork, 1, 101), do(0, heisen.Fork, 2, 102),
	}
	figure1thread1 = []heisen.Record{
		do(1, heisen.Write, x, 1), do(1, heisen.Acquire, l, 2), do(1, heisen.Write, y, 3), do(1, heisen.Release, l, 4),
		do(1, heisen.Read, z, 5),
	}
	figure1thread2 = []heisen.Record{
		do(2, heisen.Write, z, 7), do(2, heisen.Acquire, l, 8), do(2, heisen.Read, y, 9), do(2, heisen.Read, x, 10),
		do(2, heisen.Release, l, 14),
	}
	figure2thread1 = []heisen.Record{
		do(1, heisen.Acquire, l, 1), do(1, heisen.Release, l, 7), do(1, heisen.Read, x, 8),
	}
	figure2thread2 = []heisen.Record{
		do(2, heisen.Write, x, 10), do(2, heisen.Acquire, l, 11), do(2, heisen.Release, l, 13),
	}
)

// sitePairs returns the pairs of sites of the findings, sorted.
func sitePairs(found []heisen.Finding) string {
	pairs := map[string]bool{}
	for _, f := range found {
		p := spotsOfFinding(f)
		pairs[fmt.Sprintf("(%d,%d)", p[0].site, p[1].site)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(pairs)), " ")
}

// TestRaceFuzzerFigures: section 3.1 says of figure 1 that hybrid detection
// reports (5, 7) and (1, 10), and section 3.2 of figure 2 that it predicts
// (8, 10), however long before the other one thread runs.
func TestRaceFuzzerFigures(t *testing.T) {
	for name, test := range map[string]struct {
		trace []heisen.Record
		want  string
	}{
		"figure 1": {slices.Concat(start, figure1thread1, figure1thread2), "(1,10) (5,7)"},
		"figure 1, interleaved": {slices.Concat(start, figure1thread1[:4], figure1thread2[:1],
			figure1thread1[4:], figure1thread2[1:]), "(1,10) (5,7)"},
		"figure 2":                 {slices.Concat(start, figure2thread1, figure2thread2), "(8,10)"},
		"figure 2, thread 2 first": {slices.Concat(start, figure2thread2, figure2thread1), "(8,10)"},
	} {
		found, err := findingsOf(test.trace, hybrid())
		if err != nil {
			t.Fatal(err)
		}
		if got := sitePairs(found); got != test.want {
			t.Errorf("%s: pairs %s, want %s", name, got, test.want)
		}
		for _, f := range found {
			if f.Detector != "hybrid" || f.Kind != heisen.PotentialRace {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// TestEraserOnFigure1: x and z are written without a lock, y is always
// protected.
func TestEraserOnFigure1(t *testing.T) {
	found, err := findingsOf(slices.Concat(start, figure1thread1, figure1thread2), eraser())
	if err != nil {
		t.Fatal(err)
	}
	var variables []heisen.Object
	for _, f := range found {
		variables = append(variables, f.Object)
	}
	if diff := cmp.Diff([]heisen.Object{x, z}, variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

// waiter is an access in a table of TestEraserStates, with what is held.
type waiter struct {
	thread heisen.Thread
	op     heisen.Op
	locks  string // space-separated: l, m; l/r if it is held for reading
	want   string // the finding's message, or nothing
}

const (
	rd = heisen.Read
	wr = heisen.Write
	ar = heisen.AtomicRead
	aw = heisen.AtomicWrite
	au = heisen.AtomicUpdate
)

// TestEraserStates goes through the state machine.
func TestEraserStates(t *testing.T) {
	const (
		second    = " by a second thread without a lock"
		without   = " without the lock that was held at all accesses since it became shared"
		unlocked  = " of a variable that was shared without a common lock"
		notAtomic = " of a variable that was accessed atomically since it became shared"
	)
	for _, test := range []struct {
		name  string
		steps []waiter
		locks []heisen.Object // of the finding
	}{
		{"one thread needs no lock", []waiter{{1, wr, "", ""}, {1, rd, "l", ""}, {1, wr, "m", ""}, {1, wr, "", ""}}, nil},
		{"initialised, then read by all: no lock is needed", []waiter{{1, wr, "", ""}, {1, wr, "", ""}, {2, rd, "", ""}, {3, rd, "", ""}, {1, rd, "", ""}}, nil},
		{"writes before the hand-over do not count", []waiter{{1, wr, "", ""}, {2, rd, "l", ""}, {1, rd, "l", ""}}, nil},
		{"locks before the hand-over do not count", []waiter{{1, wr, "l", ""}, {2, wr, "m", ""}, {1, wr, "m", ""}, {2, rd, "m l", ""}}, nil},
		{"the access that hands over is judged", []waiter{{1, wr, "l", ""}, {2, wr, "", "write" + second}}, nil},
		{"a read hands over, the first write is judged", []waiter{{1, wr, "", ""}, {2, rd, "", ""}, {2, wr, "l", "write" + unlocked}}, nil},
		{"reads take candidates away without a report", []waiter{{1, wr, "", ""}, {2, rd, "l", ""}, {3, rd, "m", ""}, {1, wr, "l m", "write" + unlocked}}, []heisen.Object{l}},
		{"one lock protects", []waiter{{1, wr, "", ""}, {2, wr, "l m", ""}, {1, rd, "m", ""}, {2, wr, "m", ""}, {1, wr, "l m", ""}}, nil},
		{"the last lock goes", []waiter{{1, wr, "", ""}, {2, wr, "l m", ""}, {1, rd, "m", ""}, {2, wr, "l", "write" + without}}, []heisen.Object{m}},
		{"the last two locks go", []waiter{{1, wr, "", ""}, {2, wr, "l m", ""}, {1, rd, "", "read without any of the 2 locks that were held at all accesses since it became shared"}}, []heisen.Object{l, m}},
		{"once is enough", []waiter{{1, wr, "", ""}, {2, wr, "", "write" + second}, {1, wr, "", ""}, {2, wr, "", ""}}, nil},
		{"a read needs a read lock", []waiter{{1, wr, "", ""}, {2, wr, "l", ""}, {1, rd, "l/r", ""}, {2, rd, "l/r", ""}, {1, wr, "l", ""}}, nil},
		{"a write needs more than a read lock", []waiter{{1, wr, "", ""}, {2, rd, "l/r", ""}, {1, wr, "l/r", "write" + without}}, []heisen.Object{l}},
		{"a read lock and a lock for writing are two modes of one", []waiter{{1, wr, "", ""}, {2, wr, "l m/r", ""}, {1, rd, "m", "read" + without}}, []heisen.Object{l}},
		{"atomic operations need no lock", []waiter{{1, aw, "", ""}, {2, ar, "", ""}, {1, au, "", ""}, {2, aw, "", ""}}, nil},
		{"plain initialisation, then atomic", []waiter{{1, wr, "", ""}, {2, au, "", ""}, {1, ar, "", ""}}, nil},
		{"a plain read of what is counted atomically", []waiter{{1, wr, "", ""}, {2, au, "", ""}, {1, rd, "", "plain read" + notAtomic}}, nil},
		{"a plain write of it", []waiter{{1, wr, "", ""}, {2, ar, "", ""}, {1, wr, "l", "plain write" + notAtomic}}, nil},
		{"plain and atomic under a lock", []waiter{{1, wr, "", ""}, {2, au, "l", ""}, {1, wr, "l", ""}, {2, aw, "l", ""}}, nil},
		{"an atomic write without the lock of the plain ones", []waiter{{1, wr, "", ""}, {2, au, "l", ""}, {1, wr, "l", ""}, {2, aw, "", "atomic write" + without}}, []heisen.Object{l}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var trace []heisen.Record
			var want []string
			for i, s := range test.steps {
				locks := strings.Fields(s.locks)
				take := func(lock string, shared, exclusive heisen.Op) {
					name, mode, _ := strings.Cut(lock, "/")
					op, o := exclusive, l
					if mode == "r" {
						op = shared
					}
					if name == "m" {
						o = m
					}
					trace = append(trace, do(s.thread, op, o, 0))
				}
				for _, lock := range locks {
					take(lock, heisen.AcquireShared, heisen.Acquire)
				}
				trace = append(trace, do(s.thread, s.op, x, heisen.Site(i+1)))
				for _, lock := range locks { // not the last first
					take(lock, heisen.ReleaseShared, heisen.Release)
				}
				if s.want != "" {
					want = append(want, fmt.Sprintf("%d: %s", i+1, s.want))
				}
			}
			for _, options := range [][]lockset.EraserOption{nil, {lockset.WithObjectGranularity()}} {
				found, err := findingsOf(trace, eraser(options...))
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, f := range found {
					got = append(got, fmt.Sprintf("%d: %s", f.Accesses[1].Site, f.Message))
					if f.Detector != "eraser" || f.Kind != heisen.Discipline || f.Object != x {
						t.Errorf("%+v", f)
					}
					if f.Accesses[0].Thread == f.Accesses[1].Thread {
						t.Errorf("both accesses are by one thread: %+v", f)
					}
					if diff := cmp.Diff(test.locks, f.Locks); diff != "" {
						t.Errorf("locks (-want +got):\n%s", diff)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestHandOver: what the main thread and then a sync.Once have initialized, four threads read without a
// lock. Without the message at the end of the Once, and for what is written later, a lock is missing.
func TestHandOver(t *testing.T) {
	const once, done heisen.Object = l, l + 4
	run := func(message, later bool) []heisen.Record {
		trace := []heisen.Record{do(0, heisen.Write, x, 1)}
		for thread := range heisen.Thread(4) {
			trace = append(trace, do(0, heisen.Fork, heisen.Object(thread+1), 2))
		}
		trace = append(trace, do(2, heisen.Acquire, once, 0), do(2, heisen.Read, x, 3), do(2, heisen.Write, x, 3))
		if message {
			trace = append(trace, do(2, heisen.Send, done, 0))
		}
		trace = append(trace, do(2, heisen.Release, once, 0))
		for thread := range heisen.Thread(4) {
			if message {
				trace = append(trace, do(thread+1, heisen.Receive, done, 0))
			}
			trace = append(trace, do(thread+1, heisen.Read, x, 4))
		}
		if later {
			trace = append(trace, do(3, heisen.Write, x, 5))
		}
		return trace
	}
	for _, test := range []struct {
		message, later, handOver bool
		want                     []heisen.Site
	}{
		{true, false, true, nil},
		{true, true, true, []heisen.Site{5}},
		{false, false, true, nil}, // it is thread 2 that owns the variable, and others read only
		{false, true, true, []heisen.Site{5}},
		{true, false, false, []heisen.Site{4}},
	} {
		for _, options := range [][]lockset.EraserOption{nil, {lockset.WithObjectGranularity()}} {
			if test.handOver {
				options = append(options, lockset.WithHandOver())
			}
			found, err := findingsOf(run(test.message, test.later), eraser(options...))
			if err != nil {
				t.Fatal(err)
			}
			var got []heisen.Site
			for _, f := range found {
				got = append(got, f.Accesses[1].Site)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%+v: violations at %v", test, got)
			}
		}
	}
	// Twice initialized by a Once, in different threads: the messages hand over.
	twice := append(run(true, false)[:9], do(2, heisen.Release, once, 0), do(3, heisen.Receive, done, 0),
		do(3, heisen.Write, x, 6), do(3, heisen.Send, ch, 0), do(4, heisen.Receive, ch, 0), do(4, heisen.Write, x, 7))
	for handOver, want := range map[bool]int{false: 1, true: 0} {
		var options []lockset.EraserOption
		if handOver {
			options = append(options, lockset.WithHandOver())
		}
		if found, err := findingsOf(twice, eraser(options...)); err != nil || len(found) != want {
			t.Errorf("hand-over %v: %d violations, error %v", handOver, len(found), err)
		}
	}
}

// TestObjectGranularity: one candidate set for all fields finds that they have no
// lock in common, which is none of one field's business.
func TestObjectGranularity(t *testing.T) {
	use := func(t heisen.Thread, lock, field heisen.Object, site heisen.Site) []heisen.Record {
		return []heisen.Record{
			do(t, heisen.Acquire, lock, 0), do(t, heisen.Write, field, site), do(t, heisen.Release, lock, 0),
		}
	}
	trace := slices.Concat(
		[]heisen.Record{{Thread: 1, Op: heisen.Alloc, Object: x, Value: 16}, do(1, wr, x, 1), do(1, wr, y, 2)},
		use(2, l, x, 3), use(2, m, y, 4), use(1, l, x, 5), use(1, m, y, 6),
		[]heisen.Record{do(2, wr, z, 7), do(1, wr, z, 8)}, // in no object
	)
	byVariable, _ := findingsOf(trace, eraser())
	if len(byVariable) != 1 || byVariable[0].Object != z {
		t.Errorf("by variable: %+v", byVariable)
	}
	byObject, _ := findingsOf(trace, eraser(lockset.WithObjectGranularity()))
	if len(byObject) != 2 || byObject[1].Object != z {
		t.Fatalf("by object: %+v", byObject)
	}
	f := byObject[0]
	if f.Object != x || f.Accesses[0].Object != y || f.Accesses[0].Site != 2 || f.Accesses[1].Object != y || f.Accesses[1].Site != 4 {
		t.Errorf("by object: %+v", f)
	}
	// A new object at the same place knows nothing of the old one.
	again := slices.Concat(trace, []heisen.Record{{Thread: 1, Op: heisen.Alloc, Object: x, Value: 16}},
		use(1, l, x, 9), use(2, l, x, 10), use(1, l, y, 11))
	if found, _ := findingsOf(again, eraser(lockset.WithObjectGranularity())); len(found) != 2 {
		t.Errorf("after the second Alloc: %+v", found)
	}
}
