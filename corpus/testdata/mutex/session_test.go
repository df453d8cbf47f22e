package mutex

import (
	"sync"
	"testing"
)

// A sessionTable holds the sessions of a server. Logging out removes a session, and so does a purge of
// the table when it is full.
type sessionTable struct {
	mu    sync.Mutex
	users map[string]int
	limit int
	purge func(*sessionTable)
}

func (s *sessionTable) login(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[user]++
	if len(s.users) > s.limit {
		s.purge(s)
	}
}

// clear empties the table. It takes the lock, which login already has.
func (s *sessionTable) clear() {
	s.mu.Lock() // want leak
	defer s.mu.Unlock()
	s.clearLocked()
}

func (s *sessionTable) clearLocked() {
	clear(s.users)
}

func logins(s *sessionTable) {
	done := make(chan struct{}, 3)
	for _, user := range []string{"ann", "bob", "eve"} {
		go func() {
			s.login(user)
			done <- struct{}{}
		}()
	}
	<-done
}

// TestSession fills the table: the purge locks the mutex that its caller has locked.
func TestSession(t *testing.T) {
	logins(&sessionTable{users: map[string]int{}, limit: 2, purge: (*sessionTable).clear})
}

func TestSessionFixed(t *testing.T) {
	logins(&sessionTable{users: map[string]int{}, limit: 2, purge: (*sessionTable).clearLocked})
}
