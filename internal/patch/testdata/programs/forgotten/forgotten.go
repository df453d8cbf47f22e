// Package forgotten has a map behind a mutex that some methods forget.
package forgotten

import (
	"fmt"
	"io"
	"sync"
)

type store struct {
	mu sync.Mutex
	m  map[string]int
}

func newStore() *store {
	s := &store{}
	s.m = map[string]int{}
	return s
}

func (s *store) set(key string, value int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[key] = value
}

func (s *store) get(key string) (int, bool) {
	value, ok := s.m[key]
	return value, ok
}

func (s *store) print(w io.Writer) {
	fmt.Fprintln(w, len(s.m), "entries")
}

func (s *store) sum() (sum int) {
	for _, value := range s.m {
		sum += value
	}
	return sum
}
