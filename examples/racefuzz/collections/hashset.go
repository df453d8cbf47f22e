package main

// bucket is an element in a list of a hashSet.
type bucket struct {
	value int
	next  *bucket
}

// hashSet is a table of lists. It counts how often it was changed.
type hashSet struct {
	table    []*bucket
	length   int
	modified int
}

func newHashSet() *hashSet { return &hashSet{table: make([]*bucket, 4)} }

// place returns the index of a value in a table.
func place(x int, table []*bucket) int {
	return int(uint32(x)*2654435769>>16) % len(table)
}

func (s *hashSet) size() int { return s.length }

func (s *hashSet) contains(x int) bool {
	for b := s.table[place(x, s.table)]; b != nil; b = b.next {
		if b.value == x {
			return true
		}
	}
	return false
}

func (s *hashSet) add(x int) bool {
	if s.contains(x) {
		return false
	}
	s.modified++ // race:hash.add.modified
	if s.length == len(s.table) {
		s.grow()
	}
	b := new(bucket)
	i := place(x, s.table)
	b.value = x         // race:hash.value
	b.next = s.table[i] // race:hash.new
	s.table[i] = b      // race:hash.add
	s.length++
	return true
}

// grow doubles the table.
func (s *hashSet) grow() {
	table := make([]*bucket, 2*len(s.table))
	for _, b := range s.table {
		for b != nil {
			next := b.next
			i := place(b.value, table)
			b.next = table[i] // race:hash.rehash
			table[i] = b      // race:hash.refill
			b = next
		}
	}
	s.table = table // race:hash.grow
}

func (s *hashSet) remove(x int) bool {
	i := place(x, s.table)
	for at := &s.table[i]; *at != nil; at = &(*at).next {
		if (*at).value == x {
			*at = (*at).next // race:hash.unlink
			s.length--
			s.modified++ // race:hash.remove.modified
			return true
		}
	}
	return false
}

func (s *hashSet) clear() {
	s.modified++ // race:hash.clear.modified
	for i := range s.table {
		s.table[i] = nil // race:hash.clear
	}
	s.length = 0
}

func (s *hashSet) iterator() iterator {
	it := &hashIterator{s: s, modified: s.modified}
	it.advance()
	return it
}

type hashIterator struct {
	s           *hashSet
	at          *bucket // the next one
	i, modified int     // i is the index after that of at
}

// advance moves to the next list that is not empty.
func (it *hashIterator) advance() {
	table := it.s.table // race:hash.table
	for it.at == nil && it.i < len(table) {
		it.at = table[it.i] // race:hash.list
		it.i++
	}
}

func (it *hashIterator) hasNext() bool { return it.at != nil }

func (it *hashIterator) next() int {
	if it.modified != it.s.modified { // race:hash.check
		panic(errModified)
	}
	if it.at == nil {
		panic(errNoMore)
	}
	x := it.at.value   // race:hash.get
	it.at = it.at.next // race:hash.next
	it.advance()
	return x
}
