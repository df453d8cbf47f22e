//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// Healing of what the program finds in the same run. From a finding on, goroutines are kept apart (heal.go) at
//
//   - all accesses to the words of memory that the accesses of the finding conflict in, until they are allocated anew,
//   - the places of these accesses, for the same variable of other objects.
//
// The finding itself is not healed: others are in the middle of it.

// heisenHealFound is what was found.
type heisenHealFound struct {
	some   uint32 // 1 once there is anything
	words  heisenHealSet
	places heisenHealSet // program counters
}

// heisenHealSet is a set of numbers of bounded size: if there is no room for a number, another one is forgotten.
// Each number and 1 more is an entry of one of the sets of heisenHealWays entries; 0 is free.
type heisenHealSet [1 << heisenHealSetBits]uint64

const (
	heisenHealSetBits = 9
	heisenHealWays    = 4

	heisenHealWords = 8 // of an access that are looked up one by one, and of a finding
)

// first returns the index of the first entry that may have a number.
//
//go:nosplit
func (s *heisenHealSet) first(number uint64) uint64 {
	return number * 0x9E3779B97F4A7C15 >> (64 - heisenHealSetBits) &^ (heisenHealWays - 1)
}

//go:nosplit
func (s *heisenHealSet) entry(i uint64) *uint64 { return &s[i%(1<<heisenHealSetBits)] }

//go:nosplit
func (s *heisenHealSet) has(number uint64) bool {
	first := s.first(number)
	for i := first; i < first+heisenHealWays; i++ {
		if atomic.Load64(s.entry(i)) == number+1 {
			return true
		}
	}
	return false
}

// add adds a number.
func (s *heisenHealSet) add(number uint64) {
	if s.has(number) {
		return
	}
	first := s.first(number)
	for i := first; i < first+heisenHealWays; i++ {
		if atomic.Cas64(s.entry(i), 0, number+1) {
			return
		}
	}
	atomic.Store64(s.entry(first+uint64(cheaprand())%heisenHealWays), number+1)
}

// hasRange reports whether the set has a number from first to last.
//
//go:nosplit
func (s *heisenHealSet) hasRange(first, last uint64) bool {
	if last-first < heisenHealWords {
		for n := first; n <= last; n++ {
			if s.has(n) {
				return true
			}
		}
		return false
	}
	for i := range uint64(len(s)) {
		if n := atomic.Load64(s.entry(i)); n != 0 && first <= n-1 && n-1 <= last {
			return true
		}
	}
	return false
}

// remove removes the numbers from first to last.
//
//go:nosplit
func (s *heisenHealSet) remove(first, last uint64) {
	if last-first >= heisenHealWords {
		for i := range uint64(len(s)) {
			if n := atomic.Load64(s.entry(i)); n != 0 && first <= n-1 && n-1 <= last {
				atomic.Cas64(s.entry(i), n, 0)
			}
		}
		return
	}
	for n := first; n <= last; n++ {
		first := s.first(n)
		for i := first; i < first+heisenHealWays; i++ {
			atomic.Cas64(s.entry(i), n+1, 0)
		}
	}
}

// at reports whether an access is to be healed because of what was found.
//
//go:nosplit
func (f *heisenHealFound) at(addr, size uintptr, pc uint64) bool {
	return atomic.Load(&f.some) != 0 && (f.places.has(pc) || f.words.hasRange(uint64(addr)>>3, uint64(addr+max(size, 1)-1)>>3))
}

// forget is called when memory begins a new allocation epoch.
//
//go:nosplit
func (f *heisenHealFound) forget(addr, size uintptr) {
	if atomic.Load(&f.some) != 0 && size > 0 {
		f.words.remove(uint64(addr)>>3, uint64(addr+size-1)>>3)
	}
}

// learn takes what the current hook has found, about b.access if it is a race. It runs on the system stack.
func (s *heisenHealState) learn(b *heisenBuf) {
	f, a := &s.found, &b.access
	for i := uint32(0); i < b.hits.NumOverlaps; i++ {
		o := &b.hits.Overlaps[i]
		f.access(a.ID)
		f.access(o.ID)
		first := max(a.Addr, o.Addr) >> 3
		last := (min(a.Addr+max(a.Size, 1), o.Addr+max(o.Size, 1)) - 1) >> 3
		for word := first; word <= last && word < first+heisenHealWords; word++ {
			f.words.add(word)
		}
	}
	for i := uint32(0); i < b.hits.NumViolations; i++ {
		v := &b.hits.Violations[i]
		f.access(v.Entry)
		f.access(v.End)
		if v.Read {
			f.access(v.Reader)
		}
		if v.Wrote {
			f.access(v.Writer)
		}
		f.words.add(v.Addr >> 3)
	}
	atomic.Store(&f.some, 1)
}

// access adds the place of an access, and its source line if that is a location.
func (f *heisenHealFound) access(accessID uint64) {
	_, op, place, _ := heisenAccessParts(accessID)
	pc := uint64(uint32(*heisenNode(place)))
	f.places.add(pc)
	l := &heisenOverlaps.locations
	write := op == heisenWrite || op == heisenAtomicWrite || op == heisenAtomicUpdate
	if number, _ := l.locate(pc, heisenMode(write)); number > 0 && l.at(number).flags&heisenLocationUnfit == 0 {
		atomic.Or(&l.at(number).flags, heisenLocationHeal)
	}
}
