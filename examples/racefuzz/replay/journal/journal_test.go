package journal

import (
	"strings"
	"sync"
	"testing"
)

func TestJournal(t *testing.T) {
	var j Journal
	j.Notef("a %d", 1)
	j.Notef("b")
	var out strings.Builder
	if err := j.Print(&out, "p"); err != nil {
		t.Fatal(err)
	}
	if want := "a 1\nb\np: done\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestShared(t *testing.T) {
	var j Journal
	var working sync.WaitGroup
	for range 4 {
		working.Go(func() {
			for range 100 {
				j.Notef("x")
			}
		})
	}
	working.Wait()
	if n := j.Len(); n != 400 {
		t.Errorf("%d lines, want 400", n)
	}
}
