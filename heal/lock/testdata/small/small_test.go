// Package small has small programs with locks, of which heisen fuzz tries the executions.
package small

import (
	"sync"
	"testing"

	"example.com/small/lock"
)

// both runs two functions at the same time.
func both(f, g func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Go(g)
	wg.Wait()
}

// TestExclusive is small enough to try everything.
func TestExclusive(t *testing.T) {
	var l lock.Lock
	n := 0
	add := func() {
		var h lock.Held
		defer h.Release()
		h.Acquire(&l, lock.Exclusive, 1)
		n++
	}
	both(add, add)
	if n != 2 {
		t.Fatal(n)
	}
}

func TestUpdate(t *testing.T) {
	var l lock.Lock
	n := 0
	add := func() {
		var h lock.Held
		defer h.Release()
		h.Acquire(&l, lock.Update, 1)
		before := n
		h.Acquire(&l, lock.Exclusive, 2)
		n = before + 1
	}
	read := func() {
		var h lock.Held
		defer h.Release()
		h.Acquire(&l, lock.Shared, 1)
		first := n
		if again := n; first != again {
			t.Errorf("read %d and %d", first, again)
		}
	}
	both(add, read)
	if n != 1 {
		t.Fatal(n)
	}
}

// TestGiveWay: one of the two must give up what it holds.
func TestGiveWay(t *testing.T) {
	var l lock.Lock
	n := 0
	add := func() {
		var h lock.Held
		defer h.Release()
		h.Acquire(&l, lock.Shared, 1)
		h.Acquire(&l, lock.Exclusive, 2)
		n++
	}
	both(add, add)
	if n != 2 {
		t.Fatal(n)
	}
}

func TestPause(t *testing.T) {
	var l lock.Lock
	n := 0
	c := make(chan bool)
	both(func() {
		var h lock.Held
		defer h.Release()
		h.Acquire(&l, lock.Exclusive, 1)
		n++
		h.Pause()
		<-c
		h.Resume()
		n++
	}, func() {
		var h lock.Held
		defer h.Release()
		h.Acquire(&l, lock.Exclusive, 1)
		n++
		h.Release()
		c <- true
	})
	if n != 3 {
		t.Fatal(n)
	}
}
