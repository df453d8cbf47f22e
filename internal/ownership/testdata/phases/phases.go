// Command phases has variables that function main uses when no other goroutine runs.
package main

import (
	"fmt"
	"sync"
)

type totals struct {
	mu     sync.Mutex
	sum    int    // want guarded by mu
	name   string // want read-only
	early  int    // want unsafe: read without mu
	round  int    // want read-only
	shared int    // want unsafe: written without a lock
	left   int    // want unsafe: read without mu
}

func newTotals() *totals {
	t := &totals{}
	all = append(all, t) // known, but nobody runs yet
	t.name = "x"
	return t
}

var all []*totals // want local; elements local

func (t *totals) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum += n + t.round + len(t.name)
	t.early++
}

func main() {
	t := newTotals()
	for round := range 2 {
		var done sync.WaitGroup
		t.round = round
		for i := range 3 {
			done.Go(func() { t.add(i) })
		}
		fmt.Println(t.early)
		done.Wait()
		fmt.Println(t.sum, len(all))
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			t.add(1)
			leave(t)
		}()
	}
	t.shared++
	workers.Wait()
	t.shared++
	fmt.Println(t.left)
}

// leave starts a goroutine that nobody awaits.
func leave(t *totals) {
	go func() {
		t.shared++
		t.mu.Lock()
		defer t.mu.Unlock()
		t.left++
	}()
}
