package trials

import "testing"

// TestPasses: the passes are all executions, each once.
func TestPasses(t *testing.T) {
	for n := range uint64(12) {
		count := uint64(0)
		for _, p := range passes(n) {
			for k := p.from; k < min(p.to, n); k++ {
				if k != count {
					t.Fatalf("%d: execution %d is number %d", n, k, count)
				}
				count++
			}
		}
		if count != n {
			t.Errorf("%d: %d executions", n, count)
		}
	}
}
