// Package captured has a local variable that goroutines capture.
package captured

import (
	"sync"
)

func squares(n int) (sum int, all []int) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			square := i * i
			all = append(all, square)
			sum += square
		}()
	}
	wg.Wait()
	return sum, all
}
