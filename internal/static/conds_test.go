package static

import (
	"maps"
	"testing"
)

// TestCondLocks: the lock of a condition variable is known if all that the variable is made of names one lock.
func TestCondLocks(t *testing.T) {
	p := load(t, `package p

import "sync"

type gate struct {
	mu, other sync.Mutex
	rw        sync.RWMutex
	made, set, literal, value, readers, two, passed *sync.Cond
}

var mu sync.Mutex

var global = sync.NewCond(&mu)

func build(l sync.Locker) *gate {
	g := &gate{}
	g.made = sync.NewCond(&g.mu)
	g.set = new(sync.Cond)
	g.set.L = &g.mu
	g.literal = &sync.Cond{L: &g.other}
	g.readers = sync.NewCond(g.rw.RLocker())
	g.two = sync.NewCond(&g.mu)
	g.two = sync.NewCond(&g.other)
	g.passed = sync.NewCond(l)
	return &gate{value: sync.NewCond(&mu)}
}
`)
	got := map[string]string{}
	for cond, lock := range p.CondLocks() {
		got[cond.Name] = lock.Name
	}
	want := map[string]string{"global": "mu", "made": "mu", "set": "mu", "literal": "other", "readers": "rw", "value": "mu"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
