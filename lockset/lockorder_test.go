package lockset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
)

// script is a trace in words, one event each: the thread's number and what it
// does. Locks are capital letters, messages small ones, sites the event's number
// from 1, or what follows an @.
//
//	1+A 1-A     acquires and releases A      1*A 1/A   the same for reading
//	1?A 1!A     TryLock, TryRLock            1>2 1<2   forks, joins thread 2
//	1s:m 1r:m   sends, receives message m    1=A       A's memory is allocated again
//	1c:m        receives it by chance
//	1.          ends
func script(t testing.TB, text string) (trace []heisen.Record) {
	t.Helper()
	for i, word := range strings.Fields(text) {
		site := i + 1
		if at := strings.IndexByte(word, '@'); at >= 0 {
			if _, err := fmt.Sscan(word[at+1:], &site); err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			word = word[:at]
		}
		r := heisen.Record{Thread: heisen.Thread(word[0] - '0'), Site: heisen.Site(site), Context: heisen.Context(100 + i)}
		arg := word[len(word)-1]
		r.Object = 64 * heisen.Object(arg)
		switch word[1] {
		case '+':
			r.Op = heisen.Acquire
		case '-':
			r.Op = heisen.Release
		case '*':
			r.Op = heisen.AcquireShared
		case '/':
			r.Op = heisen.ReleaseShared
		case '?':
			r.Op, r.Flags = heisen.Acquire, heisen.NoWait
		case '!':
			r.Op, r.Flags = heisen.AcquireShared, heisen.NoWait
		case '>':
			r.Op, r.Object = heisen.Fork, heisen.Object(arg-'0')
		case '<':
			r.Op, r.Object = heisen.Join, heisen.Object(arg-'0')
		case 's':
			r.Op = heisen.Send
		case 'r':
			r.Op = heisen.Receive
		case 'c':
			r.Op, r.Flags = heisen.Receive, heisen.Chance
		case '=':
			r.Op, r.Value = heisen.Alloc, 64
		case '.':
			r.Op, r.Object = heisen.End, 0
		default:
			t.Fatalf("%s: no such event", word)
		}
		trace = append(trace, r)
	}
	return trace
}

// lockOrder returns the findings in a trace, as the threads and locks of their
// accesses in the order in which they wait.
func lockOrder(t testing.TB, trace []heisen.Record, options ...lockset.LockOrderOption) (found []string, err error) {
	t.Helper()
	sink := lockset.WithSink(func(f heisen.Finding) {
		if f.Kind != heisen.Deadlock || f.Detector != "lockorder" {
			t.Errorf("%s by %s", f.Kind, f.Detector)
		}
		var text []string
		for _, a := range f.Accesses {
			r := trace[a.Index-1]
			if a.Thread != r.Thread || a.Object != r.Object || a.Site != r.Site || a.Context != r.Context || a.Op != r.Op {
				t.Errorf("access %+v is not event %d, %+v", a, a.Index, r)
			}
			text = append(text, fmt.Sprintf("%d%c", a.Thread, rune(a.Object/64)))
		}
		found = append(found, strings.Join(text, " "))
	})
	d := must.Make(lockset.NewLockOrder(append(slices.Clip(options), sink)...))
	_, err = heisen.Run(context.Background(), heisen.Slice(trace), d)
	return found, err
}

func TestLockOrder(t *testing.T) {
	const forks = "0>1 0>2 0>3 "
	for _, test := range []struct {
		name, trace string
		want        []string // each the threads that wait, and for what
	}{
		{name: "opposite orders", trace: forks + "1+A 1+B 1-B 1-A 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},
		{name: "same order", trace: forks + "1+A 1+B 1-B 1-A 2+A 2+B 2-B 2-A"},
		{name: "gate lock", trace: forks + "1+G 1+A 1+B 1-B 1-A 1-G 2+G 2+B 2+A 2-A 2-B 2-G"},
		{name: "gate lock taken by one", trace: forks + "1+G 1+A 1+B 1-B 1-A 1-G 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},
		{name: "gate lock released too early", trace: forks + "1+G 1+A 1-G 1+B 1-B 1-A 2+G 2+B 2+A 2-A 2-B 2-G", want: []string{"1B 2A"}},
		{name: "gate lock between", trace: forks + "1+A 1+G 1+B 1-B 1-G 1-A 2+B 2+G 2+A 2-A 2-G 2-B", want: []string{"1B 2G", "1G 2A"}},
		{name: "shared gate lock", trace: forks + "1*G 1+A 1+B 1-B 1-A 1/G 2*G 2+B 2+A 2-A 2-B 2/G", want: []string{"1B 2A"}},
		{name: "gate lock shared by one", trace: forks + "1*G 1+A 1+B 1-B 1-A 1/G 2+G 2+B 2+A 2-A 2-B 2-G"},
		{name: "one thread", trace: "1+A 1+B 1-B 1-A 1+B 1+A 1-A 1-B"},
		{name: "ordered by fork", trace: "0+A 0+B 0-B 0-A 0>1 1+B 1+A 1-A 1-B"},
		{name: "fork between the locks", trace: "0+A 0>1 0+B 0-B 0-A 1+B 1+A 1-A 1-B", want: []string{"0B 1A"}},
		{name: "ordered by join", trace: "0>1 1+A 1+B 1-B 1-A 1. 0<1 0+B 0+A 0-A 0-B"},
		{name: "siblings, one after the other's join", trace: "0>1 1+A 1+B 1-B 1-A 1. 0<1 0>2 2+B 2+A 2-A 2-B"},
		{name: "siblings, not joined", trace: "0>1 1+A 1+B 1-B 1-A 1. 0>2 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},
		{name: "ordered by a message", trace: forks + "1+A 1+B 1-B 1-A 1s:m 2r:m 2+B 2+A 2-A 2-B"},
		{name: "ordered by chance", trace: forks + "1+A 1+B 1-B 1-A 1s:m 2c:m 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},
		{name: "sent before", trace: forks + "1s:m 1+A 1+B 1-B 1-A 2r:m 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},
		{name: "again after the message", trace: forks + "1+A@1 1+B@2 1-B 1-A 1s:m 2r:m 2+B 2+A@3 2-A 2-B 1+A@1 1+B@2 1-B 1-A", want: []string{"2A 1B"}},
		{name: "three philosophers", trace: forks + "1+A 1+B 1-B 1-A 2+B 2+C 2-C 2-B 3+C 3+A 3-A 3-C", want: []string{"1B 2C 3A"}},
		{name: "three philosophers, the other way round", trace: forks + "3+C 3+A 3-A 3-C 2+B 2+C 2-C 2-B 1+A 1+B 1-B 1-A", want: []string{"2C 3A 1B"}},
		{name: "three edges, two threads", trace: forks + "1+A 1+B 1-B 1-A 2+B 2+C 2-C 2-B 1+C 1+A 1-A 1-C"},
		{name: "guarded by two of three", trace: forks + "1+G 1+A 1+B 1-B 1-A 1-G 2+B 2+C 2-C 2-B 3+G 3+C 3+A 3-A 3-C 3-G"},
		{name: "two of three ordered", trace: forks + "1+A 1+B 1-B 1-A 1s:m 2r:m 2+B 2+C 2-C 2-B 3+C 3+A 3-A 3-C"},
		{name: "unordered only before", trace: forks + "1+A 1+B@2 1-B 1-A 2+B 2+C@3 2-C 2-B 1s:m 2r:m 2+B 2+C@3 2-C 2-B 3+C 3+A 3-A 3-C", want: []string{"1B 2C 3A"}},
		{name: "each two unordered at another time", trace: forks + "1+A 1+B@2 1-B 1-A 2+B 2+C@3 2-C 2-B 2s:n 1s:m 2r:m 2+B 2+C@3 2-C 2-B 3r:n 3+C 3+A 3-A 3-C"},
		{name: "one bug, many philosophers", trace: forks + "1+A@1 1+B@2 1-B 1-A 2+B@1 2+A@2 2-A 2-B 1+B@1 1+C@2 1-C 1-B 3+C@1 3+B@2 3-B 3-C", want: []string{"1B 2A"}},
		{name: "reentrant", trace: forks + "1+A 1+A 1-A 1-A 2+A 2+A 2-A 2-A"},
		{name: "reentrant, still held", trace: forks + "1+A 1+A 1-A 1+B 1-B 1-A 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},
		{name: "hand over hand", trace: forks + "1+A 1+B 1-A 1+C 1-B 1-C 2+A 2+B 2-A 2+C 2-B 2-C"},
		{name: "hand over hand in a ring", trace: forks + "1+A@1 1+B@2 1-A 1+C@3 1-B 1+A@4 1-C 1-A 2+A@1 2+B@2 2-A 2+C@3 2-B 2+A@4 2-C 2-A 3+A@1 3+B@2 3-A 3+C@3 3-B 3+A@4 3-C 3-A", want: []string{"1C 2A 3B"}},
		{name: "released out of order", trace: forks + "1+A 1+B 1-A 1+C 1-C 1-B 2+C 2+A 2-A 2-C"},
		{name: "released out of order, still held", trace: forks + "1+A 1+B 1-A 1+C 1-C 1-B 2+C 2+B 2-B 2-C", want: []string{"1C 2B"}},
		{name: "unlocked by another", trace: forks + "1+A 2-A 1+B 1-B 2+B 2+A 2-A 2-B"},
		{name: "unlocked by another, read", trace: forks + "1*A 2/A 1+B 1-B 2+B 2+A 2-A 2-B"},

		{name: "read and write", trace: forks + "1*A 1+B 1-B 1/A 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},
		{name: "write and read", trace: forks + "1+A 1+B 1-B 1-A 2+B 2*A 2/A 2-B", want: []string{"1B 2A"}},
		{name: "readers only", trace: forks + "1*A 1*B 1/B 1/A 2*B 2*A 2/A 2/B"},
		{name: "readers of one", trace: forks + "1*A 1+B 1-B 1/A 2+B 2*A 2/A 2-B"},
		{name: "readers of one, and a writer", trace: forks + "1*A 1+B 1-B 1/A 2+B 2*A 2/A 2-B 3+A 3-A", want: []string{"1B 2A 3A"}},
		{name: "a writer, then readers of one", trace: forks + "3+A 3-A 1*A 1+B 1-B 1/A 2+B 2*A 2/A 2-B", want: []string{"3A 1B 2A"}},
		{name: "a writer that the gate excludes", trace: forks + "3+B 3+A 3-A 3-B 1*A 1+B 1-B 1/A 2+B 2*A 2/A 2-B", want: []string{"3A 1B"}},
		{name: "reading twice", trace: forks + "1*A 1*A 1/A 1/A"},
		{name: "reading twice, and a writer", trace: forks + "1*A 1*A 1/A 1/A 2+A 2-A", want: []string{"1A 2A"}},
		{name: "a writer, then reading twice", trace: forks + "2+A 2-A 1*A 1*A 1/A 1/A", want: []string{"2A 1A"}},
		{name: "reading twice, the writer joined", trace: "0>2 2+A 2-A 2. 0<2 0*A 0*A 0/A 0/A"},

		{name: "TryLock", trace: forks + "1+A 1?B 1-B 1-A 2+B 2+A 2-A 2-B"},
		{name: "TryLock of the first", trace: forks + "1?A 1+B 1-B 1-A 2?B 2+A 2-A 2-B", want: []string{"1B 2A"}},
		{name: "TryRLock of the first", trace: forks + "1!A 1+B 1-B 1/A 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},

		{name: "memory used again", trace: forks + "1+A 1+B 1-B 1-A 0=A 2+B 2+A 2-A 2-B"},
		{name: "memory used again while held", trace: forks + "1+A 0=A 1+B 1-B 2+B 2+A 2-A 2-B"},
		{name: "memory used again before", trace: forks + "0=A 1+A 1+B 1-B 1-A 2+B 2+A 2-A 2-B", want: []string{"1B 2A"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := lockOrder(t, script(t, test.trace))
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestLockOrderMessage: how many threads, and whether a writer that waits is a
// part of it.
func TestLockOrderMessage(t *testing.T) {
	for _, test := range []struct{ trace, want string }{
		{"1+A 1+B 1-B 1-A 2+B 2+A", "two threads can wait for each other's locks"},
		{"1+A 1+B 1-B 1-A 2+B 2+C 2-C 2-B 3+C 3+A", "3 threads can wait in a circle for each other's locks"},
		{"1*A 1*A 1/A 1/A 2+A", "two threads can wait for each other's locks; a writer that waits keeps new readers out"},
	} {
		d := must.Make(lockset.NewLockOrder(lockset.WithSink(func(f heisen.Finding) {
			if f.Message != test.want {
				t.Errorf("%s: %q, want %q", test.trace, f.Message, test.want)
			}
		})))
		handleAll(d, script(t, test.trace))
	}
}

// TestLockOrderStoresOccurrences checks that repetitions by one thread, between messages, do not replace
// the occurrences of other threads, and that the occurrences of 8 threads are stored.
func TestLockOrderStoresOccurrences(t *testing.T) {
	text := "0>1 0>2 "
	for range 20 {
		text += "1r:m 1+A@1 1+B@2 1-B 1-A "
	}
	found, err := lockOrder(t, script(t, text+"2+A@1 2+B@2 2-B 2-A 1+B@3 1+A@4"))
	if err != nil {
		t.Error(err)
	}
	if want := []string{"2B 1A"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}

	text = "0>1 0>2 0>3 0>4 0>5 0>6 0>7 0>8 "
	for i := 1; i <= 8; i++ {
		text += fmt.Sprintf("%d+A@1 %[1]d+B@2 %[1]d-B %[1]d-A ", i)
		if i < 8 {
			text += fmt.Sprintf("%ds:m ", i)
		}
	}
	found, err = lockOrder(t, script(t, text+"9r:m 9+B@3 9+A@4"))
	if err != nil {
		t.Error(err)
	}
	if want := []string{"8B 9A"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func TestLockOrderLimit(t *testing.T) {
	trace := script(t, "1+A 1+B 1-B 1-A 2+B 2+A 2-A 2-B 3+C 3+D 3-D 3-C")
	found, err := lockOrder(t, trace, lockset.WithMaxDependencies(2))
	if !errors.Is(err, lockset.ErrLimit) {
		t.Errorf("error %v", err)
	}
	// Dependencies beyond the limit are still compared with the first two.
	if want := []string{"1B 2A"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	for _, n := range []int{6, 0} {
		if _, err := lockOrder(t, trace, lockset.WithMaxDependencies(n)); err != nil {
			t.Errorf("all are within the limit of %d: %v", n, err)
		}
	}
}

// TestLockOrderDoesNotAllocate repeats traces that a LockOrder has seen, with and
// without messages in between.
func TestLockOrderDoesNotAllocate(t *testing.T) {
	params := workload.Params{Threads: 12, Vars: 300, Events: 20000, Seed: 1}
	for name, trace := range map[string][]heisen.Record{
		"nested":         workload.NestedLocks(params),
		"lock-protected": workload.LockProtected(params),
		"sync-heavy":     workload.SyncHeavy(params),
		"hand over hand": script(t, "0>1 0>2 1+A 1+B 1-A 1*C 1-B 1/C 2+C 2+D 2-C 2!E 2-D 2/E"),
	} {
		t.Run(name, func(t *testing.T) {
			var repeat []heisen.Record
			for _, r := range trace {
				if r.Op != heisen.Fork && r.Op != heisen.End && r.Thread != 0 {
					repeat = append(repeat, r)
				}
			}
			d := must.Make(lockset.NewLockOrder(lockset.WithSink(func(f heisen.Finding) { t.Errorf("%+v", f) })))
			handleAll(d, trace)
			for range 20 {
				handleAll(d, repeat)
			}
			if n := testing.AllocsPerRun(10, func() { handleAll(d, repeat) }); n != 0 {
				t.Errorf("%v allocations in %d events", n, len(repeat))
			}
		})
	}
}

func ExampleNewLockOrder() {
	trace := []heisen.Record{
		{Thread: 1, Op: heisen.Acquire, Object: 0xa0, Site: 11},
		{Thread: 1, Op: heisen.Acquire, Object: 0xb0, Site: 12},
		{Thread: 1, Op: heisen.Release, Object: 0xb0, Site: 13},
		{Thread: 1, Op: heisen.Release, Object: 0xa0, Site: 14},
		{Thread: 2, Op: heisen.Acquire, Object: 0xb0, Site: 21},
		{Thread: 2, Op: heisen.Acquire, Object: 0xa0, Site: 22},
	}
	detector := must.Make(lockset.NewLockOrder(lockset.WithSink(func(f heisen.Finding) {
		fmt.Println(f.Message)
		for _, a := range f.Accesses {
			fmt.Printf("thread %d wants %#x at site %d\n", a.Thread, a.Object, a.Site)
		}
	})))
	if _, err := heisen.Run(context.Background(), heisen.Slice(trace), detector); err != nil {
		fmt.Println(err)
	}
	// Output:
	// two threads can wait for each other's locks
	// thread 1 wants 0xb0 at site 12
	// thread 2 wants 0xa0 at site 22
}
