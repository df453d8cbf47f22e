package pool_test

import (
	"testing"

	"github.com/sourcegraph/conc/pool"
)

type job struct{ in, out int }

// The goroutines of a pool do jobs, and the pool waits for them.
func TestClient(t *testing.T) {
	const n = 100
	jobs := make([]job, n)
	p := pool.New().WithMaxGoroutines(4)
	started := 0 // not synchronized
	for i := range jobs {
		i := i
		jobs[i].in = i
		p.Go(func() {
			started++
			jobs[i].out = 2 * jobs[i].in
		})
	}
	p.Wait()
	sum := 0
	for i := range jobs {
		sum += jobs[i].out
	}
	if sum != n*(n-1) {
		t.Error(sum)
	}
}
