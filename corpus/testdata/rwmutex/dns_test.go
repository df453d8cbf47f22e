package rwmutex

import (
	"sync"
	"testing"
)

// A resolver caches addresses.
type resolver struct {
	mu    sync.RWMutex
	cache map[string]string
}

// lookup keeps the read lock if the name is not in the cache.
func (r *resolver) lookup(name string) string {
	r.mu.RLock()
	if address, ok := r.cache[name]; ok {
		r.mu.RUnlock()
		return address
	}
	return "192.0.2.1"
}

// lookupAndUnlock releases the lock in any case.
func (r *resolver) lookupAndUnlock(name string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if address, ok := r.cache[name]; ok {
		return address
	}
	return "192.0.2.1"
}

func (r *resolver) store(name, address string) {
	r.mu.Lock() // want leak, deadlock
	defer r.mu.Unlock()
	r.cache[name] = address
}

func resolve(r *resolver, lookup func(string) string) {
	found := make(chan string)
	for _, name := range []string{"a.example", "b.example"} {
		go func() {
			address := lookup(name)
			found <- address
			r.store(name, address)
		}()
	}
	for range 2 {
		<-found
	}
}

// TestDNS looks names up that are not in the cache.
func TestDNS(t *testing.T) {
	r := &resolver{cache: map[string]string{}}
	resolve(r, r.lookup)
}

func TestDNSFixed(t *testing.T) {
	r := &resolver{cache: map[string]string{}}
	resolve(r, r.lookupAndUnlock)
}
