package btree_test

import (
	"sync"
	"testing"

	"github.com/google/btree"
)

type entry struct {
	key  int
	text *string
}

// Two goroutines read a tree that does not change. Counts do change.
func TestClient(t *testing.T) {
	const n, rounds = 200, 4000
	tree := btree.NewG(4, func(a, b *entry) bool { return a.key < b.key })
	for i := 0; i < n; i++ {
		text := "text"
		tree.ReplaceOrInsert(&entry{i, &text})
	}
	misses := 0 // not synchronized
	var wg sync.WaitGroup
	for g := 0; g < 2; g++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			probe := &entry{}
			for i := 0; i < rounds; i++ {
				probe.key = i % n
				if _, ok := tree.Get(probe); !ok {
					misses++
				}
			}
			misses++
		}()
	}
	wg.Wait()
}
