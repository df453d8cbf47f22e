package sidebyside

import (
	"sync"
	"testing"
)

// A race that has nothing to do with how the test ends.
func TestOffice(t *testing.T) {
	o := &office{seats: 1}
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			o.sell()
			o.last = name
		})
	}
	wg.Wait()
	if o.sold != 1 {
		t.Errorf("%d sold", o.sold)
	}
}
