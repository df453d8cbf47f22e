// Package fold folds repeated findings.
//
// A detector reports a bug each time that it sees it, which may be millions of times. A Set keeps
// the first finding of each and counts the others. Two findings are the same if their detectors and
// their fingerprints are. A race that is seen in both orders of its accesses is two items with the
// same fingerprint.
//
// A repeated finding costs two map lookups and no allocation. A Set keeps a few bytes for each set of
// program locations. It belongs to one goroutine.
package fold

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
)

// Item is a finding and how often it was found.
type Item struct {
	Finding     heisen.Finding // as first found
	Fingerprint string
	Count       uint64
	// Paths counts in how many ways the accesses were reached: by different calls, or in different
	// tests. A way counts once, in whichever order its accesses come.
	Paths int
	// Reverse distinguishes the two orders in which the accesses of a race can come. It is set if
	// the place of the last access, as text, is less than that of the first.
	Reverse bool
}

// Set is a set of findings. NewSet makes one.
type Set struct {
	symbols *heisen.Symbols
	first   func(Item)

	items  []Item
	places map[string]int // index of an item by the key that setKey computes
	known  map[identity]int
	paths  map[string]bool // ways, by the keys of countPath
	most   int             // bound on paths

	key   []byte      // scratch
	sides []uint64    // scratch: op and site of each access
	ways  [][2]uint64 // scratch: op and site of each access, and the calls that led there
}

// maxPaths bounds how many ways a Set keeps. Further ones are not counted.
const maxPaths = 1 << 16

// identity is what makes two findings the same.
type identity struct {
	detector, fingerprint string
	reverse               bool
}

// NewSet returns an empty Set. symbols are those of the stream and may be nil. If first is not nil,
// Add calls it with each finding that was not known before, with Count 1.
func NewSet(symbols *heisen.Symbols, first func(Item)) *Set {
	return &Set{
		symbols: symbols,
		first:   first,
		places:  map[string]int{},
		known:   map[identity]int{},
		paths:   map[string]bool{},
		most:    maxPaths,
	}
}

// Add takes a finding. It is a heisen.Sink. It copies what it keeps.
func (s *Set) Add(f heisen.Finding) {
	s.setKey(&f)
	if i, ok := s.places[string(s.key)]; ok {
		s.items[i].Count++
		s.countPath(i, &f)
		return
	}
	id := identity{f.Detector, f.Fingerprint(s.symbols), s.reverse(&f)}
	i, ok := s.known[id]
	if ok {
		s.items[i].Count++
	} else {
		i = len(s.items)
		s.known[id] = i
		f.Accesses = slices.Clone(f.Accesses)
		f.Witness = slices.Clone(f.Witness)
		s.items = append(s.items, Item{Finding: f, Fingerprint: id.fingerprint, Count: 1, Reverse: id.reverse})
	}
	s.places[string(s.key)] = i
	s.countPath(i, &f)
	if !ok && s.first != nil {
		s.first(s.items[i])
	}
}

// reverse computes Item.Reverse.
func (s *Set) reverse(f *heisen.Finding) bool {
	if f.Kind != heisen.Race || len(f.Accesses) == 0 {
		return false
	}
	return s.place(f.Accesses[0]) > s.place(f.Accesses[len(f.Accesses)-1])
}

func (s *Set) place(a heisen.Access) string {
	if s.symbols == nil {
		return fmt.Sprintf("%d %s", a.Site, a.Op)
	}
	return s.symbols.Site(a.Site).String() + " " + a.Op.String()
}

// setKey computes a key that is cheaper than an identity and at least as fine: findings with equal
// keys have equal identities. The order of the accesses is part of it for races only.
func (s *Set) setKey(f *heisen.Finding) {
	s.sides = s.sides[:0]
	for _, a := range f.Accesses {
		s.sides = append(s.sides, uint64(a.Op)<<32|uint64(a.Site))
	}
	if f.Kind != heisen.Race {
		slices.Sort(s.sides)
	}
	s.key = binary.LittleEndian.AppendUint32(s.key[:0], uint32(len(s.sides)))
	for _, side := range s.sides {
		s.key = binary.LittleEndian.AppendUint64(s.key, side)
	}
	s.key = append(s.key, f.Kind...)
	s.key = append(s.key, 0)
	s.key = append(s.key, f.Detector...)
}

// countPath adds to the paths of item i if f was reached in a new way.
func (s *Set) countPath(i int, f *heisen.Finding) {
	s.ways = s.ways[:0]
	for _, a := range f.Accesses {
		calls := uint64(0)
		if s.symbols != nil {
			calls = uint64(s.symbols.Cursor(a.Context).Calls) // without locks, which may be others each time
		}
		s.ways = append(s.ways, [2]uint64{uint64(a.Op)<<32 | uint64(a.Site), calls})
	}
	slices.SortFunc(s.ways, func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	s.key = s.key[:0]
	for _, way := range s.ways {
		s.key = binary.LittleEndian.AppendUint64(s.key, way[0])
		s.key = binary.LittleEndian.AppendUint64(s.key, way[1])
	}
	s.key = append(s.key, f.Kind...)
	s.key = append(s.key, 0)
	s.key = append(s.key, f.Detector...)
	if !s.paths[string(s.key)] && len(s.paths) < s.most {
		s.paths[string(s.key)] = true
		s.items[i].Paths++
	}
}

// All returns the findings in the order in which they were first seen. The slice is a copy. The
// accesses and witnesses in it are shared and must not be changed.
func (s *Set) All() []Item { return slices.Clone(s.items) }

// Len returns the number of distinct findings.
func (s *Set) Len() int { return len(s.items) }
