package pond_test

import (
	"testing"

	"github.com/alitto/pond/v2"
)

type parcel struct{ in, out int }

// Parcels are done by a pool's workers; who waits for a task's future, which is in a
// hidden package, or for the pool may look at them.
func TestClient(t *testing.T) {
	const n = 60
	parcels := make([]parcel, n)
	started := 0 // nobody takes care of it
	pool := pond.NewResultPool[int](4)
	var tasks []pond.Result[int]
	for i := range parcels {
		i := i
		parcels[i].in = i
		tasks = append(tasks, pool.Submit(func() int {
			started++
			parcels[i].out = 2 * parcels[i].in
			return i
		}))
	}
	sum := 0
	for _, task := range tasks {
		i, err := task.Wait()
		if err != nil {
			t.Fatal(err)
		}
		sum += parcels[i].out
	}
	rest := pond.NewPool(1) // another one, for two clients
	finished := 0           // nobody takes care of it either
	done := make(chan bool)
	for i := 0; i < 2; i++ {
		go func() {
			rest.Submit(func() {}).Wait()
			finished++
			done <- true
		}()
	}
	<-done
	<-done
	rest.StopAndWait()
	pool.StopAndWait()
	if sum != n*(n-1) {
		t.Error(sum)
	}
}
