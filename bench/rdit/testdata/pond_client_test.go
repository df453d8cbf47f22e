package pond_test

import (
	"testing"

	"github.com/alitto/pond/v2"
)

type parcel struct{ in, out int }

// The workers of a pool process parcels. A goroutine may read a parcel after it has waited for the
// pool, or for the future of the task, which is in a hidden package.
func TestClient(t *testing.T) {
	const n = 60
	parcels := make([]parcel, n)
	started := 0 // not synchronized
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
	rest := pond.NewPool(1) // another pool, for two clients
	finished := 0           // not synchronized either
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
