package atomicity

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A client is expensive to make, so that there should be one for each address.
type client struct{ address string }

// clients makes them when they are needed.
type clients struct {
	byAddress sync.Map
	dialed    atomic.Int32
	mu        sync.Mutex
}

// get may make a client that another goroutine makes, too.
func (c *clients) get(address string) *client {
	if known, ok := c.byAddress.Load(address); ok {
		return known.(*client)
	}
	c.dialed.Add(1)
	made := &client{address}
	c.byAddress.Store(address, made)
	return made
}

func (c *clients) getLocked(address string) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(address)
}

func dial(t *testing.T, get func(*clients, string) *client) {
	var c clients
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { get(&c, "192.0.2.1") })
	}
	wg.Wait()
	if n := c.dialed.Load(); n != 1 {
		t.Errorf("dialed %d times", n) // want failure "test failed: TestClients"
	}
}

// TestClients has two goroutines that want a client for the same address.
func TestClients(t *testing.T) { dial(t, (*clients).get) }

func TestClientsFixed(t *testing.T) { dial(t, (*clients).getLocked) }
