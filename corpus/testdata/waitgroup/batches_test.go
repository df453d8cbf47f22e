package waitgroup

import (
	"sync"
	"testing"
)

// A loader stores rows in batches. Each batch is stored when the one before it is.
type loader struct {
	wg     sync.WaitGroup
	mu     sync.Mutex
	stored []string
	begin  chan struct{}
}

func (l *loader) store(batch string) {
	defer l.wg.Done()
	<-l.begin // want leak, deadlock
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored = append(l.stored, batch)
}

// load waits in the loop, before the goroutines may begin.
func (l *loader) load(batches []string) {
	for _, b := range batches {
		l.wg.Add(1)
		go l.store(b)
		l.wg.Wait() // want leak, deadlock
	}
	close(l.begin)
}

func (l *loader) loadAndWait(batches []string) {
	for _, b := range batches {
		l.wg.Add(1)
		go l.store(b)
	}
	close(l.begin)
	l.wg.Wait()
}

func loadInBackground(load func(*loader, []string)) {
	l := &loader{begin: make(chan struct{})}
	go load(l, []string{"a", "b"})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored = append(l.stored, "header")
}

// TestBatches loads two batches in the background.
func TestBatches(t *testing.T) { loadInBackground((*loader).load) }

func TestBatchesFixed(t *testing.T) { loadInBackground((*loader).loadAndWait) }
