package mixed

import (
	"sync"
	"testing"
)

// A connPool has a fixed number of connections.
type connPool struct {
	mu   sync.Mutex
	idle chan int
	used map[int]bool
}

func newConnPool() *connPool {
	p := &connPool{idle: make(chan int, 1), used: map[int]bool{}}
	p.idle <- 1
	return p
}

// get waits for a connection while it has the lock, without which none can be put back.
func (p *connPool) get() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := <-p.idle // want leak, deadlock
	p.used[c] = true
	return c
}

func (p *connPool) getUnlocked() int {
	c := <-p.idle
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[c] = true
	return c
}

func (p *connPool) put(c int) {
	p.mu.Lock() // want leak, deadlock
	defer p.mu.Unlock()
	delete(p.used, c)
	p.idle <- c
}

func useConnections(get func(*connPool) int) {
	p := newConnPool()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { p.put(get(p)) })
	}
	wg.Wait()
}

// TestPool has three clients and one connection.
func TestPool(t *testing.T) { useConnections((*connPool).get) }

func TestPoolFixed(t *testing.T) { useConnections((*connPool).getUnlocked) }
