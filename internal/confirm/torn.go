package confirm

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
)

// torn is a detector that suspects atomic sections: where a goroutine goes through
// one, and another accesses the variable anywhere in the run in a way that the
// section's end does not allow, the access may come in between in another schedule. Who
// came to the section's entry only may also come to its end in another schedule.
// It claims nothing; whether it can come there, a directed execution shows.
//
// A suspect has the access at the entry, that of the other goroutine, and that at the
// end. Of several with the same places the first is told.
type torn struct {
	sink    heisen.Sink
	locate  atomrace.Locator
	entries map[atomrace.Location][]int // sections
	ends    map[atomrace.Location][]end
	places  map[placeKey]atomrace.Location

	open      map[openKey]heisen.Access // entries that no end has come for
	variables map[heisen.Object]*variable
}

// maxVariables bounds how many variables are known that no section was entered for.
const maxVariables = 1 << 20

// variable is what was done to a variable.
type variable struct {
	accesses []heisen.Access // one for each thread, place and kind
	passages []passage       // through sections
}

type end struct {
	section int
	allow   atomrace.Modes
}

type placeKey struct {
	site heisen.Site
	mode atomrace.Modes
}

type openKey struct {
	section  int
	thread   heisen.Thread
	variable heisen.Object
}

type passage struct {
	entry, end heisen.Access
	allow      atomrace.Modes
}

// newTorn returns a torn for a stream. sections have absolute names of files.
func newTorn(sections []atomrace.Section, symbols *heisen.Symbols, sink heisen.Sink) *torn {
	t := &torn{
		sink: sink, locate: atomrace.LocateIn(symbols, "/"),
		entries: map[atomrace.Location][]int{}, ends: map[atomrace.Location][]end{},
		places: map[placeKey]atomrace.Location{},
		open:   map[openKey]heisen.Access{}, variables: map[heisen.Object]*variable{},
	}
	for i, s := range sections {
		t.entries[s.Entry] = append(t.entries[s.Entry], i)
		for _, e := range s.Ends {
			t.ends[e.At] = append(t.ends[e.At], end{i, e.Allow})
		}
	}
	return t
}

// modeOf is how an access counts in sections.
func modeOf(op heisen.Op) atomrace.Modes {
	if op == heisen.Read || op == heisen.AtomicRead {
		return atomrace.Reads
	}
	return atomrace.Writes
}

// Handle implements heisen.Detector.
func (t *torn) Handle(e heisen.Event) {
	t.handle(heisen.AsRecord(e))
}

// HandleRecords implements heisen.RecordHandler.
func (t *torn) HandleRecords(records []heisen.Record) {
	for i := range records {
		t.handle(&records[i])
	}
}

func (t *torn) handle(r *heisen.Record) {
	if !r.Op.IsAccess() {
		return
	}
	at := t.place(r)
	v := t.variables[r.Object]
	if v == nil {
		if len(t.variables) >= maxVariables && len(t.entries[at]) == 0 {
			return
		}
		v = &variable{}
		t.variables[r.Object] = v
	}
	access := heisen.AccessOf(r, 0)
	v.addAccess(access)
	for _, e := range t.ends[at] {
		k := openKey{e.section, r.Thread, r.Object}
		if entry, inside := t.open[k]; inside {
			delete(t.open, k)
			v.addPassage(passage{entry, access, e.allow})
		}
	}
	for _, section := range t.entries[at] {
		t.open[openKey{section, r.Thread, r.Object}] = access
	}
}

// addAccess adds one of another place, kind or thread.
func (v *variable) addAccess(a heisen.Access) {
	if !slices.ContainsFunc(v.accesses, func(b heisen.Access) bool {
		return a.Site == b.Site && a.Thread == b.Thread && a.Op == b.Op
	}) {
		v.accesses = append(v.accesses, a)
	}
}

// addPassage adds one of other places or another thread.
func (v *variable) addPassage(p passage) {
	if !slices.ContainsFunc(v.passages, func(q passage) bool {
		return q.entry.Site == p.entry.Site && q.end.Site == p.end.Site && q.entry.Thread == p.entry.Thread
	}) {
		v.passages = append(v.passages, p)
	}
}

// remotes returns the accesses of other threads that may come into a passage.
func (v *variable) remotes(p passage) []heisen.Access {
	var all, ends []heisen.Access
	for _, a := range v.accesses {
		if a.Thread == p.entry.Thread {
			continue
		}
		all = append(all, a)
		if a.Site == p.entry.Site {
			end := p.end
			end.Thread = a.Thread
			ends = append(ends, end)
		}
	}
	return append(all, ends...)
}

func (t *torn) place(r *heisen.Record) atomrace.Location {
	key := placeKey{r.Site, modeOf(r.Op)}
	at, known := t.places[key]
	if !known {
		file, line, _ := t.locate.Site(r.Site)
		at = atomrace.Location{File: file, Line: line, Mode: key.mode}
		t.places[key] = at
	}
	return at
}

// Flush implements heisen.Detector: it tells what is suspected.
func (t *torn) Flush() error {
	var objects []heisen.Object
	for o, v := range t.variables {
		if len(v.passages) > 0 {
			objects = append(objects, o)
		}
	}
	slices.Sort(objects)
	told := map[[3]heisen.Site]bool{}
	for _, o := range objects {
		v := t.variables[o]
		for _, p := range v.passages {
			for _, remote := range v.remotes(p) {
				sites := [3]heisen.Site{p.entry.Site, remote.Site, p.end.Site}
				if p.allow&modeOf(remote.Op) != 0 || told[sites] {
					continue
				}
				told[sites] = true
				f := atomrace.ViolationOf([]heisen.Access{p.entry, remote, p.end})
				f.Detector = "sections"
				t.sink(f)
			}
		}
	}
	return nil
}
