package rwmutex

import (
	"sync"
	"testing"
)

// A documentStore has the documents and an index of their words, each with its lock.
type documentStore struct {
	docs  sync.RWMutex
	index sync.RWMutex
	text  map[int]string
	words map[string]int
}

// add locks the documents first, then the index.
func (s *documentStore) add(id int, text string) {
	s.docs.Lock()
	defer s.docs.Unlock()
	s.text[id] = text
	s.index.Lock() // want deadlock, leak
	defer s.index.Unlock()
	s.words[text] = id
}

// find locks the index first, for reading, then the documents.
func (s *documentStore) find(word string) string {
	s.index.RLock()
	defer s.index.RUnlock()
	id := s.words[word]
	s.docs.RLock()
	defer s.docs.RUnlock()
	return s.text[id]
}

// findInOrder never holds both locks.
func (s *documentStore) findInOrder(word string) string {
	s.index.RLock()
	id := s.words[word]
	s.index.RUnlock()
	s.docs.RLock()
	defer s.docs.RUnlock()
	return s.text[id]
}

func findDuringAdd(s *documentStore, find func(string) string) {
	var wg sync.WaitGroup
	for i, word := range []string{"go", "gopher"} {
		wg.Go(func() { s.add(i, word) })
		wg.Go(func() { find(word) })
	}
	wg.Wait()
}

// TestIndex searches while documents are added.
func TestIndex(t *testing.T) {
	s := &documentStore{text: map[int]string{}, words: map[string]int{}}
	findDuringAdd(s, s.find)
}

func TestIndexFixed(t *testing.T) {
	s := &documentStore{text: map[int]string{}, words: map[string]int{}}
	findDuringAdd(s, s.findInOrder)
}
