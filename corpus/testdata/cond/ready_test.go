package cond

import (
	"sync"
	"testing"
)

// A database tells its clients when it is ready.
type database struct {
	mu    sync.Mutex
	ready bool
	cond  *sync.Cond
}

func newDatabase() *database {
	d := new(database)
	d.cond = sync.NewCond(&d.mu)
	return d
}

func (d *database) open() {
	d.mu.Lock()
	d.ready = true
	d.mu.Unlock()
	d.cond.Broadcast()
}

// wait does not look whether the database is ready already.
func (d *database) wait() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cond.Wait() // want leak
}

func (d *database) waitUntilReady() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.ready {
		d.cond.Wait()
	}
}

func connect(wait func(*database)) {
	d := newDatabase()
	connected := make(chan struct{}, 2)
	for range 2 {
		go func() {
			wait(d)
			connected <- struct{}{}
		}()
	}
	go d.open()
}

// TestReady opens a database that two clients wait for.
func TestReady(t *testing.T) { connect((*database).wait) }

func TestReadyFixed(t *testing.T) { connect((*database).waitUntilReady) }
