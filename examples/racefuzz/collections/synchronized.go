package main

import "sync"

// synchronized is a collection with a lock, which is meant to be shared by goroutines.
type synchronized struct {
	mu     sync.Mutex
	c      collection // guarded by mu
	copies bool       // whether other collections are copied before an iteration
}

func (s *synchronized) contains(x int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c.contains(x)
}

func (s *synchronized) add(x int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c.add(x)
}

func (s *synchronized) remove(x int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c.remove(x)
}

func (s *synchronized) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.clear()
}

// iterator returns an iterator. The bug: the lock is not held while it is used.
func (s *synchronized) iterator() iterator {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copies {
		return s.snapshot()
	}
	return s.c.iterator()
}

// snapshot returns an iterator over a copy; the lock is held.
func (s *synchronized) snapshot() iterator {
	var copied arrayList
	for it := s.c.iterator(); it.hasNext(); {
		copied.add(it.next())
	}
	return copied.iterator()
}

// containsAll reports whether all elements of another collection are in this one.
func (s *synchronized) containsAll(other *synchronized) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for it := other.iterator(); it.hasNext(); {
		if !s.c.contains(it.next()) {
			return false
		}
	}
	return true
}

// addAll adds the elements of another collection that are not in this one.
func (s *synchronized) addAll(other *synchronized) (added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for it := other.iterator(); it.hasNext(); {
		if x := it.next(); !s.c.contains(x) {
			s.c.add(x)
			added = true
		}
	}
	return added
}

// equal reports whether both have the same elements, one after the other.
func (s *synchronized) equal(other *synchronized) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine, its := s.c.iterator(), other.iterator()
	for mine.hasNext() && its.hasNext() {
		if mine.next() != its.next() {
			return false
		}
	}
	return !mine.hasNext() && !its.hasNext()
}
