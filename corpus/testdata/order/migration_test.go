package order

import (
	"sync/atomic"
	"testing"
	"time"
)

// A store has tables once its migration has run.
type store struct {
	tables atomic.Pointer[[]string]
}

func (s *store) migrate() {
	s.tables.Store(&[]string{"users", "orders"})
}

func (s *store) count() int {
	return len(*s.tables.Load()) // want failure "nil pointer dereference"
}

// TestMigration expects that the migration takes less time than the rest of the start.
func TestMigration(t *testing.T) {
	var s store
	go s.migrate()
	time.Sleep(0) // the rest of the start
	counted := make(chan int)
	go func() { counted <- s.count() }()
	if n := <-counted; n != 2 {
		t.Errorf("%d tables", n)
	}
}

func TestMigrationFixed(t *testing.T) {
	var s store
	migrated := make(chan struct{})
	go func() {
		s.migrate()
		close(migrated)
	}()
	<-migrated
	if n := s.count(); n != 2 {
		t.Errorf("%d tables", n)
	}
}
