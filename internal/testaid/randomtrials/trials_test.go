package randomtrials_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
)

// failures counts the errors that would fail a test.
type failures struct {
	testing.TB
	mu sync.Mutex
	n  int
}

func (f *failures) Helper() {}

func (f *failures) Errorf(string, ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
}

// TestEach: every seed is used once, and an error fails the test.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 100, 1001} {
		var mu sync.Mutex
		var seeds []uint64
		randomtrials.Each(t, n, func(seed uint64) error {
			mu.Lock()
			defer mu.Unlock()
			seeds = append(seeds, seed)
			return nil
		})
		slices.Sort(seeds)
		want := make([]uint64, randomtrials.Count(n))
		for i := range want {
			want[i] = uint64(i)
		}
		if !slices.Equal(seeds, want) {
			t.Errorf("of %d trials the seeds are %v", n, seeds)
		}
	}
	f := &failures{TB: t}
	randomtrials.Each(f, 1000, func(seed uint64) error {
		if seed == 7 {
			return errors.New("seven")
		}
		return nil
	})
	if f.n != 1 {
		t.Errorf("%d failures", f.n)
	}
}
