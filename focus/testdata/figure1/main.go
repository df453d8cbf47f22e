// Figure 1 of "Optimized Run-Time Race Detection and Atomicity Checking Using Partial Discovered Types",
// in Go. The two goroutines come one after the other.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

type node struct {
	mu    sync.Mutex
	value int
}

// setValue requires n.mu.
//
//go:noinline
func (n *node) setValue(v int) { n.value = v }

//go:noinline
func newNode() *node { return new(node) }

func main() {
	n1, n2 := newNode(), newNode()
	n1.setValue(10)
	var first atomic.Bool
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		defer both.Done()
		n2.mu.Lock()
		n2.setValue(30)
		n2.mu.Unlock()
		first.Store(true)
	}()
	go func() {
		defer both.Done()
		for !first.Load() {
		}
		n2.setValue(20)
	}()
	both.Wait()
	fmt.Println(n1 != n2)
}
