// Package lines has lines with accesses. A comment says whether all reads and writes on it are safe.
package lines

import "sync"

type safe struct {
	mu     sync.Mutex
	n, m   int
	values map[string]int
	list   []int
}

type unsafe struct {
	n    int
	list []int
	s    safe
}

func (s *safe) use(u *unsafe, key string) int { // W
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++         // R W
	s.n = 1       // W
	s.n = u.n     // W
	u.n = s.n     // R
	u.n = 2       // R
	s.m = s.n + 1 // R W
	s.n, u.n = u.n, s.n
	s.values[key]++ // R W
	if s.n > 3 &&   // R
		s.m > 4 { // R
		s.m = 5 // W
	}
	if s.n > 3 &&
		u.n > 4 {
		u.n = 5 // R
	}
	for i := range s.list { // R
		s.list[i] = i // R W
	}
	for i, v := range u.list {
		s.list[i] = v // R W
	}
	switch {
	case s.n > 1: // R
		s.n = 2 // W
	case u.n > 3:
		s.m = 4 // W
	}
	switch s.n { // R
	case 1:
		return s.m // R
	}
	var c chan int
	select {
	case c <- s.n:
	case s.n = <-c:
	default:
	}
	func() {
		u.n = 1 // R
	}()
	return len(s.values) // R
}

func (s *safe) get() int { s.mu.Lock(); defer s.mu.Unlock(); return s.n } // R

func (u *unsafe) get() int { return u.n }

func run() {
	s := &safe{ // W
		values: map[string]int{}, // W
	}
	s.list = make([]int, 3) // R W
	u := &unsafe{}          // W
	for range 2 {
		go func() {
			println(s.use(u, "x"), s.get(), u.get()) // R
			u.list = append(u.list, 1)
			u.list[0]++
		}()
	}
}

var start = run // W
