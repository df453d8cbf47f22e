package mixed

import (
	"sync"
	"testing"
)

func scanHost(host string, open chan<- string) {
	if host != "closed" {
		open <- host // want leak
	}
}

// scan waits for all before it receives from any. The channel has room for two.
func scan(hosts []string) (found int) {
	open := make(chan string, 2)
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() { scanHost(h, open) })
	}
	wg.Wait() // want leak
	close(open)
	for range open {
		found++
	}
	return found
}

// scanAndReceive receives while it waits.
func scanAndReceive(hosts []string) (found int) {
	open := make(chan string, 2)
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() { scanHost(h, open) })
	}
	go func() {
		wg.Wait()
		close(open)
	}()
	for range open {
		found++
	}
	return found
}

func scanLater(scan func([]string) int) {
	first := make(chan int, 1)
	go func() { first <- scan([]string{"a", "closed"}) }()
	go func() { scan([]string{"b", "c", "d"}) }()
	<-first
}

// TestScan scans two networks, one of which has more open hosts than the channel has room.
func TestScan(t *testing.T) { scanLater(scan) }

func TestScanFixed(t *testing.T) { scanLater(scanAndReceive) }
