package waitgroupmisuse

import (
	"sync"
	"testing"
)

// mirrors asks hosts for a file. The goroutines count themselves when they run.
func mirrors(hosts []string, have map[string]bool) (found int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, h := range hosts {
		go func() {
			wg.Add(1) // want race
			defer wg.Done()
			mu.Lock()
			defer mu.Unlock()
			if have[h] {
				found++ // want race
			}
		}()
	}
	wg.Wait()    // want race, failure "WaitGroup is reused"
	return found // want race
}

func mirrorsCounted(hosts []string, have map[string]bool) (found int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, h := range hosts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.Lock()
			defer mu.Unlock()
			if have[h] {
				found++
			}
		}()
	}
	wg.Wait()
	return found
}

// TestMirrors asks two hosts.
func TestMirrors(t *testing.T) {
	mirrors([]string{"a", "b"}, map[string]bool{"a": true, "b": true})
}

func TestMirrorsFixed(t *testing.T) {
	if n := mirrorsCounted([]string{"a", "b"}, map[string]bool{"a": true, "b": true}); n != 2 {
		t.Errorf("%d mirrors", n)
	}
}
