package waitgroupmisuse

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A folder has a size and folders in it.
type folder struct {
	size    int64
	folders []folder
}

// measure is done before it has counted the folders inside.
func measure(wg *sync.WaitGroup, f *folder, total *atomic.Int64) {
	total.Add(f.size)
	wg.Done()
	for i := range f.folders {
		wg.Add(1) // want race
		go measure(wg, &f.folders[i], total)
	}
}

func measureAll(wg *sync.WaitGroup, f *folder, total *atomic.Int64) {
	defer wg.Done()
	total.Add(f.size)
	for i := range f.folders {
		wg.Add(1)
		go measureAll(wg, &f.folders[i], total)
	}
}

func sizeOf(t *testing.T, measure func(*sync.WaitGroup, *folder, *atomic.Int64)) {
	root := &folder{1, []folder{{2, nil}, {3, []folder{{4, nil}}}}}
	var wg sync.WaitGroup
	var total atomic.Int64
	wg.Add(1)
	go measure(&wg, root, &total)
	wg.Wait() // want race, failure "WaitGroup is reused"
	if n := total.Load(); n != 10 {
		t.Errorf("size %d", n) // want failure "test failed: TestTree"
	}
}

// TestTree measures folders in folders.
func TestTree(t *testing.T) { sizeOf(t, measure) }

func TestTreeFixed(t *testing.T) { sizeOf(t, measureAll) }
