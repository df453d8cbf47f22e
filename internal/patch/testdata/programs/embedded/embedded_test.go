package embedded

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	var m meter
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			m.add(float64(i))
			m.mean()
			m.reset()
		}()
	}
	wg.Wait()

}
