package order

import (
	"sync"
	"testing"
)

// A journal takes entries until it is closed.
type journal struct {
	mu      sync.Mutex
	entries []string
	closed  bool
}

func (j *journal) write(entry string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.entries = append(j.entries, entry)
	}
	return !j.closed
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

// An auditor writes to a journal in the background.
type auditor struct {
	journal *journal
	pending sync.WaitGroup
}

func (a *auditor) audit(t *testing.T, entry string) {
	a.pending.Go(func() {
		if !a.journal.write(entry) {
			t.Errorf("%q is lost", entry) // want failure "test failed: TestJournal"
		}
	})
}

// TestJournal closes the journal when the last entry may not be written.
func TestJournal(t *testing.T) {
	a := &auditor{journal: new(journal)}
	a.audit(t, "login")
	flushed := make(chan struct{})
	go func() { // after the entry, as the author thought
		a.journal.close()
		close(flushed)
	}()
	a.pending.Wait()
	<-flushed
}

func TestJournalFixed(t *testing.T) {
	a := &auditor{journal: new(journal)}
	a.audit(t, "login")
	a.pending.Wait()
	a.journal.close()
}
