package heisen_test

import (
	"testing"

	"github.com/heisen-go/heisen"
)

// TestThreadNames checks that names come back as they were given, whatever
// numbers are in them.
func TestThreadNames(t *testing.T) {
	names := []string{
		"", "0", "7", "T", "T0", "T00", "T007", "goroutine 1", "goroutine 18446744073709551615",
		"goroutine 18446744073709551616", "99999999999999999999999", "1a", "a1b22", "Fäden 12",
	}
	s := heisen.NewSymbols()
	for round := range 2 { // the second changes what is known already
		for i, name := range names {
			id := heisen.Thread(i * 37)
			info := heisen.ThreadInfo{Name: name, Forked: i%2 == round, Parent: heisen.Thread(i), Site: heisen.Site(i), Context: heisen.Context(round)}
			s.SetThread(id, info)
			s.SetThread(id, info)
			if got := s.Thread(id); got != info {
				t.Errorf("thread %d is %+v, want %+v", id, got, info)
			}
		}
	}
	if changes, _ := s.Changes(heisen.Revision{}); len(changes.Threads) != 2*len(names) {
		t.Errorf("%d changes, want %d", len(changes.Threads), 2*len(names))
	}
	if got := s.Thread(38); got != (heisen.ThreadInfo{}) {
		t.Errorf("a thread that nobody described is %+v", got)
	}
}
