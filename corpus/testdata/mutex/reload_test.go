package mutex

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// settings are read while a server runs, and reloaded from text.
type settings struct {
	mu     sync.Mutex
	values map[string]string
}

var errSyntax = errors.New("no equals sign")

func (s *settings) get(key string) string {
	s.mu.Lock() // want leak
	defer s.mu.Unlock()
	return s.values[key]
}

// reload keeps the lock when it returns an error.
func (s *settings) reload(text string) error {
	s.mu.Lock()
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return errSyntax
		}
		s.values[key] = value
	}
	s.mu.Unlock()
	return nil
}

// reloadOrKeep releases the lock in any case.
func (s *settings) reloadOrKeep(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return errSyntax
		}
		s.values[key] = value
	}
	return nil
}

func readWhileReloading(t *testing.T, s *settings, reload func(string) error) {
	go func() {
		for _, key := range []string{"host", "port"} {
			s.get(key)
		}
	}()
	if err := reload("host=localhost\nport"); err != errSyntax {
		t.Errorf("error %v", err)
	}
}

// TestReload reloads settings with a mistake while another goroutine reads them.
func TestReload(t *testing.T) {
	s := &settings{values: map[string]string{}}
	readWhileReloading(t, s, s.reload)
}

func TestReloadFixed(t *testing.T) {
	s := &settings{values: map[string]string{}}
	readWhileReloading(t, s, s.reloadOrKeep)
}
