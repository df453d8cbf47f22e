package report

import (
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
