package atomrace

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/atomrace"
)

// Locator says what the numbers of events stand for, as far as sections need that. Its
// functions are called once for each number, mode and so on, not for each event; of a
// Detector that is driven by BeforeAccess, from any of its goroutines, one at a time.
type Locator struct {
	// Site returns the file, with slashes, and the line of a site, and the name of the
	// variable that is accessed there, or "" if it is not known. Sections with a name are
	// for accesses whose variable has it. An access whose variable is not known may be to
	// any, unless sections with different names have the place in common: then it is to
	// none.
	Site func(heisen.Site) (file string, line int, variable string)

	// Folder is what paths of files are relative to that are not absolute, those that
	// Site returns and those of the sections.
	Folder string

	// Depth returns how many calls a thread in a context is in. It is for streams whose
	// records have contexts, and is nil for streams with Call and Return events.
	Depth func(heisen.Context) int
}

// LocateIn returns a Locator for a stream with the given symbols: sites are located by
// their frames or, in text traces, by a text that ends in a colon and a line, and depths
// by call paths. Variables are not named. For folder see Locator.
func LocateIn(symbols *heisen.Symbols, folder string) Locator {
	return Locator{
		Site: func(s heisen.Site) (file string, line int, variable string) {
			info := symbols.Site(s)
			if len(info.Frames) > 0 {
				file, line = info.Frames[0].File, info.Frames[0].Line
			} else if at := strings.LastIndexByte(info.Text, ':'); at > 0 {
				n, err := strconv.Atoi(info.Text[at+1:])
				if err != nil {
					return "", 0, ""
				}
				file, line = info.Text[:at], n
			}
			return file, line, ""
		},
		Folder: folder,
		Depth:  func(c heisen.Context) int { return len(symbols.Calls(c)) },
	}
}

// place is a place as all ways to write it are understood.
func (l *Locator) place(file string, line int, mode Modes) Location {
	if !path.IsAbs(file) {
		file = path.Join(l.Folder, file)
	}
	return Location{path.Clean(file), line, mode}
}

// repository is the sections of a detector, by the sites that they mean.
//
// The table of package internal/core/atomrace knows locations by small numbers. A location's number
// stands for a place and for which of the sections that name the place are meant, for
// that depends on the variable. Numbers are given when sites turn up.
type repository struct {
	sections []Section
	locator  Locator
	table    *atomrace.Table
	roles    map[Location][]role // by place

	sites [2]numbered[atomic.Uint32] // by mode: one more than the number; 0 if not known yet

	mu      sync.Mutex
	numbers map[string]uint32 // by place and roles
	failed  error             // the table is full

	depths map[heisen.Context]uint32 // of a stream
}

// role is what a place is to a section.
type role struct {
	section int // index
	end     int // index of the end, or -1 for the entry
}

func newRepository(table *atomrace.Table, sections []Section, locator Locator) (*repository, error) {
	r := &repository{
		sections: cloneSections(sections), locator: locator, table: table,
		roles: map[Location][]role{}, numbers: map[string]uint32{}, depths: map[heisen.Context]uint32{},
	}
	ends := 0
	for i := range r.sections {
		s := &r.sections[i]
		entry := locator.place(s.Entry.File, s.Entry.Line, s.Entry.Mode)
		r.roles[entry] = append(r.roles[entry], role{i, -1})
		for j, e := range s.Ends {
			end := locator.place(e.At.File, e.At.Line, e.At.Mode)
			r.roles[end] = append(r.roles[end], role{i, j})
			ends++
		}
		if s.Above > 1<<30 {
			return nil, fmt.Errorf("%w: section %d lives %d calls above its entry", ErrSections, i+1, s.Above)
		}
		if table.AddSection(0, uint32(s.Above), s.Circular, s.Recursive) == 0 {
			return nil, fmt.Errorf("%w: %d are too many", ErrSections, len(sections))
		}
	}
	if len(r.roles) > atomrace.MaxLocations || ends > atomrace.MaxEnds {
		return nil, fmt.Errorf("%w: %d places and %d ends are too many", ErrSections, len(r.roles), ends)
	}
	return r, nil
}

// location returns the number of the location of an access, 0 if it means nothing to
// any section.
func (r *repository) location(site heisen.Site, op heisen.Op) uint32 {
	mode := 0
	if op.IsWrite() {
		mode = 1
	}
	n := r.sites[mode].at(uint32(site))
	if known := n.Load(); known != 0 {
		return known - 1
	}
	number := r.locate(site, Reads<<mode)
	n.Store(number + 1)
	return number
}

// locate is location for a site that has not been seen in this mode.
func (r *repository) locate(site heisen.Site, mode Modes) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, line, variable := r.locator.Site(site)
	if file == "" {
		return 0
	}
	place := r.locator.place(file, line, mode)
	meant := r.meant(place, variable)
	if len(meant) == 0 {
		return 0
	}
	key := fmt.Sprint(place, meant)
	if n := r.numbers[key]; n != 0 {
		return n
	}
	if r.failed != nil {
		return 0
	}
	n := uint32(len(r.numbers) + 1)
	for _, role := range meant {
		section := uint32(role.section + 1)
		ok := false
		if role.end < 0 {
			ok = r.table.AddEntry(section, n)
		} else {
			allow := r.sections[role.section].Ends[role.end].Allow
			ok = r.table.AddEnd(section, n, allow&Reads != 0, allow&Writes != 0)
		}
		if !ok {
			r.failed = fmt.Errorf("%w: more places and variables than there is room for, from %v", ErrSections, place)
			return 0
		}
	}
	r.numbers[key] = n
	return n
}

// meant returns the roles of a place for a variable, "" if that is not known.
func (r *repository) meant(place Location, variable string) (meant []role) {
	names := map[string]bool{}
	for _, role := range r.roles[place] {
		s := &r.sections[role.section]
		if s.Variable != "" {
			names[s.Variable] = true
		}
	}
	for _, role := range r.roles[place] {
		s := &r.sections[role.section]
		if variable == "" && s.Variable != "" && len(names) > 1 || variable != "" && !s.Covers(variable) {
			continue
		}
		meant = append(meant, role)
	}
	return meant
}

// depth returns the depth of a context of a stream.
func (r *repository) depth(c heisen.Context) uint32 {
	if c == 0 {
		return 0
	}
	d, ok := r.depths[c]
	if !ok {
		d = uint32(max(0, r.locator.Depth(c)))
		r.depths[c] = d
	}
	return d
}
