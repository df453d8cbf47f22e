package heisen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// naive is a thread's calls and locks as plain stacks.
type naive struct {
	calls []Site     // outermost first
	locks []HeldLock // in order of acquisition
}

func (n naive) key() string { return fmt.Sprint(n.calls, n.locks) }

// walker compares one thread's cursor with plain stacks, step by step.
type walker struct {
	symbols  *Symbols
	cursor   Cursor
	plain    naive
	contexts map[string]Context // of the plain states seen, shared by the threads
}

func (w *walker) Call(t *rapid.T) {
	site := Site(rapid.IntRange(0, 3).Draw(t, "site"))
	w.cursor = w.symbols.Call(w.cursor, site)
	w.plain.calls = append(slices.Clone(w.plain.calls), site)
}

func (w *walker) Return(*rapid.T) {
	w.cursor = w.symbols.Return(w.cursor)
	if n := len(w.plain.calls); n > 0 {
		w.plain.calls = w.plain.calls[:n-1]
	}
}

func drawHeld(t *rapid.T) HeldLock {
	return HeldLock{
		Lock:   Object(rapid.IntRange(0, 2).Draw(t, "lock")),
		Shared: rapid.Bool().Draw(t, "shared"),
		Site:   Site(rapid.IntRange(0, 1).Draw(t, "site")),
	}
}

func (w *walker) Acquire(t *rapid.T) {
	h := drawHeld(t)
	w.cursor = w.symbols.Acquire(w.cursor, h)
	w.plain.locks = append(slices.Clone(w.plain.locks), h)
}

func (w *walker) Release(t *rapid.T) {
	h := drawHeld(t)
	before := w.cursor
	var ok bool
	w.cursor, ok = w.symbols.Release(w.cursor, h.Lock, h.Shared)
	latest := -1
	for i, held := range w.plain.locks {
		if held.Lock == h.Lock && held.Shared == h.Shared {
			latest = i
		}
	}
	if ok != (latest >= 0) {
		t.Fatalf("release of %+v with %+v held: %t", h, w.plain.locks, ok)
	}
	if ok {
		w.plain.locks = slices.Delete(slices.Clone(w.plain.locks), latest, latest+1)
	} else if w.cursor != before {
		t.Fatalf("a release of nothing moved the cursor from %v to %v", before, w.cursor)
	}
}

func (w *walker) check(t *rapid.T) {
	ctx := w.symbols.Context(w.cursor)
	calls := slices.Clone(w.plain.calls)
	slices.Reverse(calls) // Calls gives the innermost first
	if got := w.symbols.Calls(ctx); !slices.Equal(got, calls) {
		t.Fatalf("calls %v, want %v", got, calls)
	}
	if got := w.symbols.Locks(ctx); !slices.Equal(got, w.plain.locks) {
		t.Fatalf("locks %v, want %v", got, w.plain.locks)
	}
	if got := w.symbols.Cursor(ctx); got != w.cursor {
		t.Fatalf("context %d stands for cursor %v, want %v", ctx, got, w.cursor)
	}
	known, ok := w.contexts[w.plain.key()]
	if ok && known != ctx {
		t.Fatalf("one state has contexts %d and %d", known, ctx)
	}
	for key, other := range w.contexts {
		if other == ctx && key != w.plain.key() {
			t.Fatalf("context %d stands for %s and %s", ctx, key, w.plain.key())
		}
	}
	w.contexts[w.plain.key()] = ctx
}

// TestCursors moves some threads about and compares them with plain stacks;
// then it builds the tables again from themselves.
func TestCursors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		symbols := NewSymbols()
		contexts := map[string]Context{naive{}.key(): 0}
		threads := make([]*walker, 3)
		for i := range threads {
			threads[i] = &walker{symbols: symbols, contexts: contexts}
		}
		t.Repeat(map[string]func(*rapid.T){
			"call":    func(t *rapid.T) { drawThread(t, threads).Call(t) },
			"return":  func(t *rapid.T) { drawThread(t, threads).Return(t) },
			"acquire": func(t *rapid.T) { drawThread(t, threads).Acquire(t) },
			"release": func(t *rapid.T) { drawThread(t, threads).Release(t) },
			"": func(t *rapid.T) {
				for _, w := range threads {
					w.check(t)
				}
			},
		})
		checkRebuild(t, symbols)
	})
}

func drawThread(t *rapid.T, threads []*walker) *walker {
	return threads[rapid.IntRange(0, len(threads)-1).Draw(t, "thread")]
}

// checkRebuild repeats the additions behind the tables in their order, as a
// reader of a trace does: every one must get its old number.
func checkRebuild(t *rapid.T, from *Symbols) {
	changes, now := from.Changes(Revision{})
	to := NewSymbols()
	for i, info := range changes.Sites {
		if got := to.AddSite(info); got != Site(i+1) {
			t.Fatalf("site %d became %d", i+1, got)
		}
	}
	for i, n := range changes.CallPaths {
		if got := to.Call(Cursor{Calls: n.Parent}, n.Site); got.Calls != uint32(i+1) {
			t.Fatalf("call %d became %d", i+1, got.Calls)
		}
	}
	for i, n := range changes.LockPaths {
		if got := to.Acquire(Cursor{Locks: n.Parent}, n.HeldLock); got.Locks != uint32(i+1) {
			t.Fatalf("lock %d became %d", i+1, got.Locks)
		}
	}
	for i, c := range changes.Contexts {
		if got := to.Context(c); got != Context(i+1) {
			t.Fatalf("context %d became %d", i+1, got)
		}
	}
	if to.NumContexts() != from.NumContexts() {
		t.Fatalf("%d contexts became %d", from.NumContexts(), to.NumContexts())
	}
	for ctx := range Context(from.NumContexts()) {
		if diff := cmp.Diff(from.Stack(0, ctx), to.Stack(0, ctx)); diff != "" {
			t.Fatalf("stack of context %d (-before +after):\n%s", ctx, diff)
		}
		if !slices.Equal(from.Locks(ctx), to.Locks(ctx)) {
			t.Fatalf("locks of context %d were %v, are %v", ctx, from.Locks(ctx), to.Locks(ctx))
		}
	}
	if changes, again := from.Changes(now); again != now || !cmp.Equal(changes, Changes{}, cmpopts.EquateEmpty()) {
		t.Fatalf("something changed since the latest revision: %+v", changes)
	}
}

func TestSites(t *testing.T) {
	s := NewSymbols()
	if s.NumSites() != 1 {
		t.Errorf("a new table has %d sites, want the unknown one", s.NumSites())
	}
	a := s.AddSite(SiteInfo{PC: 0x10})
	b := s.AddSite(SiteInfo{Text: "b"})
	if a != 1 || b != 2 || s.NumSites() != 3 {
		t.Errorf("sites %d and %d of %d", a, b, s.NumSites())
	}
	late := SiteInfo{PC: 0x10, Frames: []Frame{{Func: "f", File: "f.go", Line: 3}, {Func: "main", File: "main.go", Line: 9}}}
	s.SetSite(a, late)
	s.SetSite(0, late)
	s.SetSite(9, late)
	for site, want := range map[Site]string{0: "?", a: "f.go:3", b: "b", 9: "?"} {
		if got := s.Site(site).String(); got != want {
			t.Errorf("site %d is %q, want %q", site, got, want)
		}
	}
	if got := (SiteInfo{PC: 0x10}).String(); got != "0x10" {
		t.Errorf("a site without frames is %q", got)
	}
	ctx := s.Context(s.Call(s.Call(Cursor{}, b), a))
	want := []Frame{{Func: "f", File: "f.go", Line: 3}, {Func: "main", File: "main.go", Line: 9}, {Func: "b"}}
	if diff := cmp.Diff(want, s.Stack(0, ctx)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(append([]Frame{{Func: "b"}}, want...), s.Stack(b, ctx)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTask: the innermost task counts, then those of who started the thread.
func TestTask(t *testing.T) {
	s := NewSymbols()
	task := func(name string) Site { return s.AddSite(SiteInfo{Task: name}) }
	call := s.AddSite(SiteInfo{Frames: []Frame{{Func: "f", File: "f.go", Line: 3}}})
	outer := s.Call(s.Call(Cursor{}, task("outer")), call)
	inner := s.Call(s.Call(s.Call(outer, call), task("inner")), call)
	s.SetThread(1, ThreadInfo{Forked: true, Context: s.Context(inner)})
	s.SetThread(2, ThreadInfo{Forked: true, Parent: 1, Context: s.Context(s.Call(Cursor{}, call))})
	s.SetThread(3, ThreadInfo{Forked: true, Parent: 2})
	s.SetThread(4, ThreadInfo{Forked: true})
	s.SetThread(5, ThreadInfo{Forked: true, Parent: 6}) // a cycle
	s.SetThread(6, ThreadInfo{Forked: true, Parent: 5})
	for _, test := range []struct {
		thread Thread
		at     Cursor
		want   string
	}{
		{0, Cursor{}, ""}, {0, outer, "outer"}, {0, inner, "inner"}, {0, s.Return(s.Return(inner)), "outer"},
		{1, Cursor{}, "inner"}, {1, outer, "outer"}, {2, Cursor{}, "inner"}, {3, Cursor{}, "inner"},
		{4, Cursor{}, ""}, {5, Cursor{}, ""}, {6, outer, "outer"}, {7, Cursor{}, ""},
	} {
		if got := s.Task(test.thread, s.Context(test.at)); got != test.want {
			t.Errorf("thread %d works on %q, want %q", test.thread, got, test.want)
		}
	}
	if got := s.Stack(0, s.Context(inner)); len(got) != 3 {
		t.Errorf("tasks are in the stack %v", got)
	}
	if got := s.Site(task("x")).String(); got != "x" {
		t.Errorf("a task is the site %q", got)
	}
}

func TestNames(t *testing.T) {
	s := NewSymbols()
	s.SetName(16, "mu")
	s.SetThread(2, ThreadInfo{Name: "T2", Forked: true, Parent: 1})
	if s.Name(16) != "mu" || s.Name(17) != "0x11" {
		t.Errorf("names %q and %q", s.Name(16), s.Name(17))
	}
	if s.Thread(2).Parent != 1 || s.Thread(3) != (ThreadInfo{}) {
		t.Errorf("threads %+v and %+v", s.Thread(2), s.Thread(3))
	}
}

// TestNilSymbols: readers of findings need not have a table.
func TestNilSymbols(t *testing.T) {
	var s *Symbols
	if s.Site(3).String() != "?" || s.Name(17) != "0x11" || s.Thread(1) != (ThreadInfo{}) ||
		s.Cursor(5) != (Cursor{}) || s.Calls(5) != nil || s.Locks(5) != nil || s.NumSites() != 0 ||
		s.NumContexts() != 0 || s.NumReaches() != 0 || !s.Reach(7).Meets(8, 1) || s.LimitPassed() {
		t.Error("the nil table knows something")
	}
	at := Cursor{3, 4}
	if released, held := s.Release(at, 8, false); held || released != at || s.Call(at, 3) != at || s.Return(at) != at ||
		s.Acquire(at, HeldLock{Lock: 8}) != at || s.Context(at) != 0 || s.AddSite(SiteInfo{Text: "a"}) != 0 || s.AddReach(nil) != 0 {
		t.Error("the nil table takes something")
	}
	s.SetSite(1, SiteInfo{})
	s.SetName(1, "x")
	s.SetThread(1, ThreadInfo{Name: "T"})
	s.SetLimits(Limits{CallPaths: 1})
	if changes, _ := s.Changes(Revision{}); !cmp.Equal(changes, Changes{}) {
		t.Errorf("changes %+v", changes)
	}
	if got := s.Task(3, 5); got != "" {
		t.Errorf("task %q", got)
	}
	if got := s.Stack(3, 5); len(got) != 1 || got[0].Func != "?" {
		t.Errorf("stack %v", got)
	}
}

func ExampleSymbols() {
	s := NewSymbols()
	handler := s.AddSite(SiteInfo{Frames: []Frame{{Func: "serve", File: "serve.go", Line: 20}}})
	lock := s.AddSite(SiteInfo{Frames: []Frame{{Func: "handle", File: "handle.go", Line: 5}}})
	write := s.AddSite(SiteInfo{Frames: []Frame{{Func: "handle", File: "handle.go", Line: 6}}})

	// A thread calls handle, which takes a lock and then writes.
	at := s.Call(Cursor{}, handler)
	at = s.Acquire(at, HeldLock{Lock: 0xc000, Site: lock})
	ctx := s.Context(at)

	for _, f := range s.Stack(write, ctx) {
		fmt.Printf("%s %s:%d\n", f.Func, f.File, f.Line)
	}
	for _, h := range s.Locks(ctx) {
		fmt.Println("holding", s.Name(h.Lock), "since", s.Site(h.Site))
	}
	// Output:
	// handle handle.go:6
	// serve serve.go:20
	// holding 0xc000 since handle.go:5
}

func TestChanges(t *testing.T) {
	var s Symbols
	site := s.AddSite(SiteInfo{PC: 1})
	s.SetSite(site, SiteInfo{Text: "a"})
	s.SetSite(99, SiteInfo{Text: "unknown"})
	s.SetThread(3, ThreadInfo{Name: "t"})
	s.SetThread(3, ThreadInfo{Name: "t"}) // no change
	s.SetThread(3, ThreadInfo{Name: "u"})
	s.SetName(8, "x")
	s.SetName(8, "x") // no change
	s.SetName(16, "")
	first, now := s.Changes(Revision{})
	want := Changes{Sites: []SiteInfo{{Text: "a"}},
		Threads: []ThreadChange{{3, ThreadInfo{Name: "u"}}, {3, ThreadInfo{Name: "u"}}}, Names: []NameChange{{8, "x"}, {16, ""}}}
	if diff := cmp.Diff(want, first, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("changes from the start (-want +got):\n%s", diff)
	}

	other := s.AddSite(SiteInfo{Text: "b"})
	s.SetSite(other, SiteInfo{Text: "c"})
	s.SetSite(site, SiteInfo{Text: "d"})
	held := HeldLock{Lock: 8, Site: other}
	at := s.Acquire(s.Call(Cursor{}, other), held)
	s.Context(at)
	reach := NewObjects(Span{8, 8})
	s.AddReach(reach)
	s.SetThread(4, ThreadInfo{Name: "v"})
	second, _ := s.Changes(now)
	want = Changes{
		SetSites:  []SiteChange{{site, SiteInfo{Text: "d"}}},
		Sites:     []SiteInfo{{Text: "c"}},
		CallPaths: []CallNode{{0, other}},
		LockPaths: []LockNode{{0, held}},
		Contexts:  []Cursor{at},
		Reaches:   []Objects{reach},
		Threads:   []ThreadChange{{4, ThreadInfo{Name: "v"}}},
	}
	if diff := cmp.Diff(want, second, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("changes since the first look (-want +got):\n%s", diff)
	}
	if first.Sites[0].Text != "a" || len(first.Threads) != 2 {
		t.Errorf("the first changes became %+v", first)
	}
}

// TestZeroSymbols checks that the zero value needs no constructor.
func TestZeroSymbols(t *testing.T) {
	var s Symbols
	if s.NumSites() != 1 || s.NumContexts() != 1 || s.NumReaches() != 1 {
		t.Errorf("it has %d sites, %d contexts and %d sets", s.NumSites(), s.NumContexts(), s.NumReaches())
	}
	if s.Site(0).String() != "?" || s.Site(1).String() != "?" || s.Name(8) != "0x8" || s.Thread(5) != (ThreadInfo{}) ||
		s.Return(Cursor{7, 7}) != (Cursor{0, 7}) || s.Cursor(3) != (Cursor{}) || !s.Reach(1).Meets(8, 1) {
		t.Error("it knows something")
	}
	if _, held := s.Release(Cursor{7, 7}, 8, false); held {
		t.Error("a lock that nobody acquired is held")
	}
	site := s.AddSite(SiteInfo{Text: "a"})
	ctx := s.Context(s.Acquire(s.Call(Cursor{}, site), HeldLock{Lock: 8}))
	s.SetName(8, "mu")
	if site != 1 || ctx != 1 || len(s.Calls(ctx)) != 1 || len(s.Locks(ctx)) != 1 || s.Name(8) != "mu" {
		t.Errorf("site %d, context %d, name %s", site, ctx, s.Name(8))
	}
}

// TestSymbolsLimits checks what contexts say beyond the limits: less, but nothing wrong.
func TestSymbolsLimits(t *testing.T) {
	const other = 99
	var s Symbols
	s.SetLimits(Limits{CallPaths: 3, LockPaths: 2, OtherLock: other, Contexts: 4})
	one := s.Call(Cursor{}, 1)
	two := s.Call(one, 2)
	if s.LimitPassed() {
		t.Error("a limit is passed by as many call paths as it allows")
	}
	if s.Call(two, 3) != two || s.Call(Cursor{}, 2) != (Cursor{}) || s.Call(Cursor{}, 1) != one || !s.LimitPassed() {
		t.Error("calls beyond the limit are in the table, or others are not")
	}
	a := s.Acquire(Cursor{}, HeldLock{Lock: 8, Site: 1})
	b := s.Acquire(a, HeldLock{Lock: 16, Site: 2})
	c := s.Acquire(Cursor{}, HeldLock{Lock: 24, Site: 1})
	if d := s.Acquire(b, HeldLock{Lock: 32, Site: 3}); d != b {
		t.Errorf("a lock beyond twice the limit moved the cursor to %v", d)
	}
	if held := s.Locks(s.Context(b)); !slices.Equal(held, []HeldLock{{8, false, 1}, {other, false, 2}}) {
		t.Errorf("held are %v", held)
	}
	if held := s.Locks(s.Context(c)); !slices.Equal(held, []HeldLock{{other, false, 1}}) {
		t.Errorf("held are %v", held)
	}
	s.Context(one) // the third besides the empty one
	if ctx := s.Context(a); ctx != 0 {
		t.Errorf("a context beyond the limit is %d", ctx)
	}
	ctx := s.Context(Cursor{two.Calls, a.Locks})
	if held, calls := s.Locks(ctx), s.Calls(ctx); len(held) != 0 || !slices.Equal(calls, []Site{2, 1}) {
		t.Errorf("a context beyond the limit has locks %v and calls %v", held, calls)
	}
}

// TestConcurrentSymbols interns and looks up the same things in several goroutines. Under the race
// detector it finds accesses that are not synchronized.
func TestConcurrentSymbols(t *testing.T) {
	const goroutines, steps = 4, 500
	var s Symbols
	contexts := make([][]Context, goroutines)
	var done sync.WaitGroup
	for g := range goroutines {
		done.Add(1)
		go func() {
			defer done.Done()
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range steps {
				text := fmt.Sprintf("%d/%d", g, i)
				site := s.AddSite(SiteInfo{Text: text})
				if got := s.Site(site).Text; got != text {
					t.Errorf("site %d is %q, want %q", site, got, text)
				}
				s.SetSite(site, SiteInfo{Text: text + "'"})
				s.Site(Site(rng.IntN(s.NumSites())))

				// Equal positions of all goroutines have equal contexts.
				c := s.Call(s.Call(Cursor{}, Site(i)), Site(i%7))
				c = s.Acquire(s.Acquire(c, HeldLock{Lock: Object(i)}), HeldLock{Lock: 1, Shared: true})
				c, held := s.Release(c, Object(i), false)
				ctx := s.Context(c)
				contexts[g] = append(contexts[g], ctx)
				if !held || s.Cursor(ctx) != c || len(s.Locks(ctx)) != 1 || !slices.Equal(s.Calls(ctx), []Site{Site(i % 7), Site(i)}) {
					t.Errorf("step %d: cursor %v, context %d with calls %v and locks %v", i, c, ctx, s.Calls(ctx), s.Locks(ctx))
				}
				if s.Return(s.Return(c)).Calls != 0 {
					t.Errorf("step %d: two returns from two calls lead to %v", i, s.Return(s.Return(c)))
				}
				s.SetThread(Thread(i), ThreadInfo{Name: "T", Forked: i > 0, Parent: Thread(i / 2), Context: ctx})
				s.Task(Thread(i), ctx)
				s.SetName(Object(i), text)
				s.Name(Object(rng.IntN(steps)))
				set := NewObjects(Span{Object(i), 8})
				if got := s.Reach(s.AddReach(set)); !got.equal(set) {
					t.Errorf("set %v became %v", set, got)
				}
				if i%100 == 0 {
					s.Changes(Revision{})
				}
			}
		}()
	}
	done.Wait()
	for g := range contexts {
		if !slices.Equal(contexts[g], contexts[0]) {
			t.Error("two goroutines got different contexts for the same positions")
		}
	}
	if changes, _ := s.Changes(Revision{}); len(changes.Sites) != goroutines*steps || len(changes.Reaches) != steps {
		t.Errorf("%d sites, %d sets", len(changes.Sites), len(changes.Reaches))
	}
}
