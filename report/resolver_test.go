package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestAncestors: a chain of creations is followed to its end, up to a bound.
func TestAncestors(t *testing.T) {
	s := heisen.NewSymbols()
	for i := heisen.Thread(1); i <= 5; i++ {
		s.SetThread(i, heisen.ThreadInfo{Forked: true, Parent: i - 1})
	}
	for i := heisen.Thread(100); i < 1000; i++ {
		s.SetThread(i, heisen.ThreadInfo{Forked: true, Parent: i + 1})
	}
	s.SetThread(10, heisen.ThreadInfo{Forked: true, Parent: 11})
	s.SetThread(11, heisen.ThreadInfo{Forked: true, Parent: 10})
	for _, test := range []struct {
		threads []heisen.Thread
		want    []heisen.Thread
	}{
		{[]heisen.Thread{0}, []heisen.Thread{0}},
		{[]heisen.Thread{3}, []heisen.Thread{3, 2, 1, 0}},
		{[]heisen.Thread{2, 5}, []heisen.Thread{5, 4, 3, 2, 1, 0}},
		{[]heisen.Thread{5, 2}, []heisen.Thread{2, 1, 0, 5, 4, 3}},
		{[]heisen.Thread{10, 2}, []heisen.Thread{2, 1, 0, 10, 11}},
		{[]heisen.Thread{7}, []heisen.Thread{7}},
		{[]heisen.Thread{100}, []heisen.Thread{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115}},
	} {
		f := heisen.Finding{Kind: heisen.Race}
		for _, thread := range test.threads {
			f.Accesses = append(f.Accesses, heisen.Access{Op: heisen.Write, Thread: thread})
		}
		got := new(Resolver).Resolve(f, s).Goroutines
		ok := len(got) == len(test.want)
		for i := 0; ok && i < len(got); i++ {
			ok = got[i].Thread == test.want[i]
		}
		if !ok {
			t.Errorf("threads %v: goroutines %v, want %v", test.threads, got, test.want)
		}
	}
}

// TestCleanups: the functions of runtime.AddCleanup that one goroutine runs are told apart.
func TestCleanups(t *testing.T) {
	s := heisen.NewSymbols()
	site := s.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "runtime.(*cleanupQueue).createGs", File: "/go/src/runtime/mcleanup.go", Line: 672}}})
	s.SetThread(0, heisen.ThreadInfo{Name: "main goroutine"})
	s.SetThread(4, heisen.ThreadInfo{Name: "goroutine 7", Forked: true, Site: site})
	for i := heisen.Thread(5); i <= 6; i++ {
		s.SetThread(i, heisen.ThreadInfo{Name: "goroutine 7", Forked: true, Parent: 4, Site: site})
	}
	f := heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{{Op: heisen.Write, Thread: 5}, {Op: heisen.Read, Thread: 6}}}
	got := new(Resolver).Resolve(f, s)
	if a, b := got.Accesses[0].Goroutine, got.Accesses[1].Goroutine; a != "cleanup 5 on goroutine 7" || b != "cleanup 6 on goroutine 7" {
		t.Errorf("accesses by %s and %s", a, b)
	}
	var text strings.Builder
	if err := WriteText(&text, &got); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Read by cleanup 6 on goroutine 7 at", "Cleanup 6 on goroutine 7 created by goroutine 7\n", "Goroutine 7 created by main goroutine at:\n"} {
		if strings.Count(text.String(), line) != 1 {
			t.Errorf("%q is not in the report once:\n%s", line, text.String())
		}
	}
}

// TestNewGoroutine: a goroutine that has done nothing does not get the number of another one.
func TestNewGoroutine(t *testing.T) {
	s := heisen.NewSymbols()
	s.SetThread(0, heisen.ThreadInfo{Name: "main goroutine"})
	s.SetThread(3, heisen.ThreadInfo{Name: "goroutine 7", Forked: true})
	s.SetThread(7, heisen.ThreadInfo{Forked: true})
	f := heisen.Finding{Kind: heisen.Race, Witness: []heisen.Record{
		{Op: heisen.Fork, Object: 3}, {Op: heisen.Fork, Object: 7},
	}}
	got := new(Resolver).Resolve(f, s).Witness
	if got[0].Object != "goroutine 7" || got[1].Object != "a goroutine that has done nothing yet" {
		t.Errorf("starts %q and %q", got[0].Object, got[1].Object)
	}
}

func TestUserFrame(t *testing.T) {
	user := Frame{Func: "main.f", File: "main.go", Line: 3}
	once := Frame{Func: "sync.(*Once).Do", File: "once.go", Line: 7}
	add := Frame{Func: "internal/runtime/atomic.Xadd", File: "atomic.go", Line: 9}
	like := Frame{Func: "syncer.Run", File: "syncer.go", Line: 1}
	for _, test := range []struct {
		stack []Frame
		want  Frame
	}{
		{nil, Frame{}},
		{[]Frame{user, once}, user},
		{[]Frame{add, once, user}, user},
		{[]Frame{once, add}, once},
		{[]Frame{like, user}, like},
		{[]Frame{{Func: "12"}, user}, user},
	} {
		if got := userFrame(test.stack); got != test.want {
			t.Errorf("%v: %v, want %v", test.stack, got, test.want)
		}
	}
}

// TestStackFrames: a stack has neither wrappers nor the runtime's frames around a goroutine's first
// function. It has other frames of the runtime, and always one frame.
func TestStackFrames(t *testing.T) {
	for _, test := range []struct{ stack, want []string }{
		{[]string{"main.f", "main.main.func1", "runtime.goexit"}, []string{"main.f", "main.main.func1"}},
		{[]string{"main.f", "main.main", "runtime.main", "runtime.goexit"}, []string{"main.f", "main.main"}},
		{[]string{"main.init.0", "runtime.doInit1", "runtime.doInit", "runtime.main"}, []string{"main.init.0"}},
		{[]string{"main.f", "main.f-fm", "main.main", "runtime.main"}, []string{"main.f", "main.main"}},
		{[]string{"runtime.main", "main.f"}, []string{"runtime.main", "main.f"}},
		{[]string{"main.f", "runtime.mainly"}, []string{"main.f", "runtime.mainly"}},
		{[]string{"runtime.main", "runtime.goexit"}, []string{"runtime.main"}},
	} {
		s := heisen.NewSymbols()
		at := func(function string) heisen.Site {
			frame := heisen.Frame{Func: function, File: "file.go", Line: 1}
			if strings.HasSuffix(function, "-fm") {
				frame.File = "<autogenerated>"
			}
			return s.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{frame}})
		}
		var c heisen.Cursor
		for _, f := range slices.Backward(test.stack[1:]) {
			c = s.Call(c, at(f))
		}
		access := heisen.Access{Op: heisen.Write, Site: at(test.stack[0]), Context: s.Context(c)}
		f := new(Resolver).Resolve(heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{access}}, s)
		var got []string
		for _, frame := range f.Accesses[0].Stack {
			got = append(got, frame.Func)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.stack, got, test.want)
		}
	}
}
