package pond_test

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alitto/pond"
)

// BenchmarkHashes hashes blocks of 4 KiB in a pool of 8 workers, to which 8 clients submit them. The pool grows and shrinks,
// and is stopped at the end.
func BenchmarkHashes(b *testing.B) {
	const clients, blocks = 8, 2500
	for n := 0; n < b.N; n++ {
		var hashed atomic.Int64
		pool := pond.New(8, 64, pond.MinWorkers(1))
		var submitting sync.WaitGroup
		for client := 0; client < clients; client++ {
			client := client
			submitting.Add(1)
			go func() {
				defer submitting.Done()
				var block [4096]byte
				for i := 0; i < blocks; i++ {
					block[0], block[1] = byte(client), byte(i)
					mine := block
					pool.Submit(func() {
						if sha256.Sum256(mine[:]) != [sha256.Size]byte{} {
							hashed.Add(1)
						}
					})
				}
			}()
		}
		submitting.Wait()
		pool.StopAndWait()
		if hashed.Load() != clients*blocks || pool.SuccessfulTasks() != clients*blocks || pool.RunningWorkers() != 0 {
			b.Fatalf("%d of %d blocks are hashed, the pool says %d, and %d workers are left", hashed.Load(), clients*blocks, pool.SuccessfulTasks(), pool.RunningWorkers())
		}
	}
}
