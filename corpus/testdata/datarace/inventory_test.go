package datarace

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// An inventory drops items that are too old, from time to time.
type inventory struct {
	mu    sync.Mutex
	items []string
}

func (v *inventory) expire(after time.Duration) {
	time.Sleep(after)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.items {
		v.items[i] = "" // want race
	}
	v.items = v.items[:0]
}

// list returns the slice itself, which is read after the lock is released.
func (v *inventory) list() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.items
}

func (v *inventory) listCopy() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.items)
}

func expireDuring(list func(*inventory) []string) (n int) {
	v := &inventory{items: []string{"a", "b", "c"}}
	go v.expire(time.Second)
	for _, item := range list(v) {
		n += len(item)
	}
	return n
}

// TestInventory reads a list of items that expires later.
func TestInventory(t *testing.T) {
	if n := expireDuring((*inventory).list); n != 3 {
		t.Errorf("%d characters", n)
	}
}

func TestInventoryFixed(t *testing.T) {
	if n := expireDuring((*inventory).listCopy); n != 3 {
		t.Errorf("%d characters", n)
	}
}
