package report

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestAncestors: a chain of creations is followed to its end, but not for ever.
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
		got := Resolve(Item{Finding: f}, s, nil).Goroutines
		ok := len(got) == len(test.want)
		for i := 0; ok && i < len(got); i++ {
			ok = got[i].Thread == test.want[i]
		}
		if !ok {
			t.Errorf("threads %v: goroutines %v, want %v", test.threads, got, test.want)
		}
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

// TestStackEnds: the runtime's frames around a goroutine's first function are
// left out, but those within a stack, and a stack of nothing else, are not.
func TestStackEnds(t *testing.T) {
	for _, test := range []struct{ stack, want []string }{
		{[]string{"main.f", "main.main.func1", "runtime.goexit"}, []string{"main.f", "main.main.func1"}},
		{[]string{"main.f", "main.main", "runtime.main", "runtime.goexit"}, []string{"main.f", "main.main"}},
		{[]string{"main.init.0", "runtime.doInit1", "runtime.doInit", "runtime.main"}, []string{"main.init.0"}},
		{[]string{"runtime.main", "main.f"}, []string{"runtime.main", "main.f"}},
		{[]string{"main.f", "runtime.mainly"}, []string{"main.f", "runtime.mainly"}},
		{[]string{"runtime.main", "runtime.goexit"}, []string{"runtime.main"}},
	} {
		s := heisen.NewSymbols()
		at := func(function string) heisen.Site {
			return s.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: function, File: "file.go", Line: 1}}})
		}
		var c heisen.Cursor
		for _, f := range slices.Backward(test.stack[1:]) {
			c = s.Call(c, at(f))
		}
		access := heisen.Access{Op: heisen.Write, Site: at(test.stack[0]), Context: s.Context(c)}
		f := Resolve(Item{Finding: heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{access}}}, s, nil)
		var got []string
		for _, frame := range f.Accesses[0].Stack {
			got = append(got, frame.Func)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.stack, got, test.want)
		}
	}
}
