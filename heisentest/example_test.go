package heisentest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/heisen-go/heisen/heisentest"
)

var t *testing.T // of the test in which the examples stand

// A test that loses an update under some schedules.
func ExampleExplore() {
	heisentest.Explore(t, func(t *testing.T) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		n := 0
		for range 2 {
			wg.Go(func() {
				mu.Lock()
				old := n
				mu.Unlock()
				mu.Lock()
				n = old + 1
				mu.Unlock()
			})
		}
		wg.Wait()
		if n != 2 {
			t.Errorf("n is %d", n)
		}
	}, heisentest.WithTime(5*time.Second))
}

func ExampleNoLeaks() {
	heisentest.NoLeaks(t)
	answers := make(chan int)
	go func() { answers <- 1 }() // nobody receives
}

func ExampleVerifyNone() {
	defer heisentest.VerifyNone(t, heisentest.IgnoreTopFunction("example.org/m.(*pool).work"))
}

func ExampleVerifyTestMain() {
	fmt.Println("func TestMain(m *testing.M) { heisentest.VerifyTestMain(m) }")
	// Output: func TestMain(m *testing.M) { heisentest.VerifyTestMain(m) }
}
