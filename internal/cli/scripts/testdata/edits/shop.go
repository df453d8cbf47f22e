package shop

import "sync"

type Shop struct{ total int }

// Add is racy.
func (s *Shop) Add(n int) {
	s.total += n
}

type Stock struct {
	mu    sync.Mutex
	items int
}

func (s *Stock) Items() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items
}

func (s *Stock) Set(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = n
}

// Take loses updates.
func (s *Stock) Take(n int) {
	have := s.Items()
	s.Set(have - n)
}

type Account struct {
	mu      sync.Mutex
	balance int
}

// Transfer locks in two orders.
func Transfer(from, to *Account, n int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	from.balance -= n
	to.balance += n
}

// First leaves a goroutine behind.
func First(a, b func() int) int {
	c := make(chan int)
	go func() { c <- a() }()
	go func() { c <- b() }()
	return <-c
}
