package atomrace

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/atomrace"
	"github.com/heisen-go/heisen/section"
)

// sectionTable gives the core table the sections of a detector.
//
// The core knows locations by small numbers. A number stands for the roles of an access, which depend
// on the place and on the variable. Numbers are given when sites turn up.
type sectionTable struct {
	sections []section.Section
	table    *atomrace.Table
	locator  section.Locator
	depth    func(heisen.Context) int // nil if Call and Return events say it
	ends     []section.Role           // in the order of AddEnd

	sites [2]radixTable[atomic.Uint32] // by mode: one more than the number; 0 if not known yet

	mu      sync.Mutex
	index   *section.Index
	numbers map[string]uint32 // by roles
	failed  error             // the core table is full

	depths map[heisen.Context]uint32 // of a stream
}

func newSectionTable(table *atomrace.Table, sections []section.Section, locator section.Locator) (*sectionTable, error) {
	index, err := section.NewIndex(sections, locator)
	if err != nil {
		return nil, err
	}
	sections = slices.Clone(sections)
	for i := range sections {
		sections[i].Ends = slices.Clone(sections[i].Ends)
	}
	s := &sectionTable{
		sections: sections, table: table, index: index, locator: locator, depth: locator.Depth,
		numbers: map[string]uint32{}, depths: map[heisen.Context]uint32{},
	}
	ends, places := 0, map[section.Location]bool{}
	for i := range sections {
		x := &sections[i]
		places[x.Entry] = true
		for _, e := range x.Ends {
			places[e.At] = true
		}
		ends += len(x.Ends)
		if x.Above > 1<<30 {
			return nil, fmt.Errorf("%w: section %d lives %d calls above its entry", section.ErrInvalid, i+1, x.Above)
		}
		if table.AddSection(0, uint32(x.Above), x.Circular, x.Recursive) == 0 {
			return nil, fmt.Errorf("%w: %d are too many", section.ErrInvalid, len(sections))
		}
	}
	if len(places) > atomrace.MaxLocations || ends > atomrace.MaxEnds {
		return nil, fmt.Errorf("%w: %d places and %d ends are too many", section.ErrInvalid, len(places), ends)
	}
	return s, nil
}

// location returns the number of the location of an access, 0 if it has no role in any section.
func (s *sectionTable) location(site heisen.Site, op heisen.Op) uint32 {
	mode := 0
	if op.IsWrite() {
		mode = 1
	}
	n := s.sites[mode].at(uint32(site))
	if known := n.Load(); known != 0 {
		return known - 1
	}
	number := s.locate(site, op)
	n.Store(number + 1)
	return number
}

// locate is location for a site that is seen for the first time in this mode.
func (s *sectionTable) locate(site heisen.Site, op heisen.Op) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	roles := s.index.Roles(site, op)
	if len(roles) == 0 {
		return 0
	}
	key := fmt.Sprint(roles)
	if n := s.numbers[key]; n != 0 {
		return n
	}
	if s.failed != nil {
		return 0
	}
	n := uint32(len(s.numbers) + 1)
	for _, role := range roles {
		if !s.addRole(role, n) {
			s.failed = fmt.Errorf("%w: more places and variables than there is room for, from %v", section.ErrInvalid, s.place(role))
			return 0
		}
	}
	s.numbers[key] = n
	return n
}

// addRole tells the core table that location n has a role, and reports whether there was room.
func (s *sectionTable) addRole(role section.Role, n uint32) bool {
	number := uint32(role.Section + 1)
	if role.IsEntry() {
		return s.table.AddEntry(number, n)
	}
	allow := s.sections[role.Section].Ends[role.End].Allow
	if !s.table.AddEnd(number, n, allow&section.Reads != 0, allow&section.Writes != 0) {
		return false
	}
	s.ends = append(s.ends, role)
	return true
}

// inside reports whether an access is made in a call of one of the functions of an end, the n-th that
// was added, from 1.
func (s *sectionTable) inside(n uint32, access heisen.Access) bool {
	s.mu.Lock()
	role := s.ends[n-1]
	s.mu.Unlock()
	return s.locator.Inside(&s.sections[role.Section].Ends[role.End], access)
}

// place returns the location of a role as the section names it.
func (s *sectionTable) place(role section.Role) section.Location {
	x := &s.sections[role.Section]
	if role.IsEntry() {
		return x.Entry
	}
	return x.Ends[role.End].At
}

// contextDepth returns the number of calls on the stack of a context of a stream.
func (s *sectionTable) contextDepth(c heisen.Context) uint32 {
	if c == 0 {
		return 0
	}
	d, ok := s.depths[c]
	if !ok {
		d = uint32(max(0, s.depth(c)))
		s.depths[c] = d
	}
	return d
}
