package suspects

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/overlap"
	"github.com/heisen-go/heisen/section"
)

// sectionSuspects is a detector that suspects atomic sections. It suspects a section that a
// goroutine executes if another goroutine accesses the same variable, anywhere in the run, in a way
// that the section's end does not allow: in another schedule the access may come in between. If the
// other goroutine makes that access at the section's entry, it may also come to the section's end
// in another schedule, so the end is suspected as well. A suspect need not be a bug. A directed
// execution shows whether it is one.
//
// A suspect has the access at the entry, that of the other goroutine, and that at the end. Of
// several suspects with the same places only the first is reported.
type sectionSuspects struct {
	sink    heisen.Sink
	tracker *section.Tracker
	index   *section.Index

	events    uint64
	variables map[heisen.Object]*variable
}

// maxVariables bounds the variables whose accesses are kept. Beyond it, only variables that are
// accessed at the entry of a section are added.
const maxVariables = 1 << 20

// variable is what was done to a variable.
type variable struct {
	accesses   []heisen.Access // one for each thread, place and kind
	executions []section.Execution
}

// newSectionSuspects returns a detector for a stream. The sections have absolute names of files.
func newSectionSuspects(sections []section.Section, symbols *heisen.Symbols, sink heisen.Sink) (*sectionSuspects, error) {
	locator := section.LocateIn(symbols, "/")
	locator.Permissive = true
	t := &sectionSuspects{sink: sink, variables: map[heisen.Object]*variable{}}
	var err error
	if t.index, err = section.NewIndex(sections, locator); err != nil {
		return nil, err
	}
	t.tracker, err = section.NewTracker(sections, locator, func(e section.Execution) {
		if v := t.variables[e.End.Object]; v != nil {
			v.addExecution(e)
		}
	})
	return t, err
}

// Handle implements heisen.Detector.
func (t *sectionSuspects) Handle(e heisen.Event) {
	t.handle(heisen.AsRecord(e))
}

func (t *sectionSuspects) handle(r *heisen.Record) {
	t.events++
	if r.Op.IsAccess() {
		t.access(r)
	}
	t.tracker.Next(r, t.events)
}

func (t *sectionSuspects) access(r *heisen.Record) {
	v := t.variables[r.Object]
	if v == nil {
		if len(t.variables) >= maxVariables && !slices.ContainsFunc(t.index.Roles(r.Site, r.Op), section.Role.IsEntry) {
			return
		}
		v = &variable{}
		t.variables[r.Object] = v
	}
	v.addAccess(heisen.AccessOf(r, 0))
}

// addAccess adds an access of another place, kind or thread.
func (v *variable) addAccess(a heisen.Access) {
	if !slices.ContainsFunc(v.accesses, func(b heisen.Access) bool {
		return a.Site == b.Site && a.Thread == b.Thread && a.Op == b.Op
	}) {
		v.accesses = append(v.accesses, a)
	}
}

// addExecution adds an execution of a section with other places or by another thread.
func (v *variable) addExecution(e section.Execution) {
	if !slices.ContainsFunc(v.executions, func(o section.Execution) bool {
		return e.Entry.Site == o.Entry.Site && e.End.Site == o.End.Site && e.Entry.Thread == o.Entry.Thread
	}) {
		e.Entry.Index, e.End.Index = 0, 0 // a suspect is no event of the stream
		v.executions = append(v.executions, e)
	}
}

// remotes returns the accesses of other threads that may come into an execution.
func (v *variable) remotes(e section.Execution) []heisen.Access {
	var all, ends []heisen.Access
	for _, a := range v.accesses {
		if a.Thread == e.Entry.Thread {
			continue
		}
		all = append(all, a)
		if a.Site == e.Entry.Site {
			end := e.End
			end.Thread = a.Thread
			ends = append(ends, end)
		}
	}
	return append(all, ends...)
}

// Flush implements heisen.Detector. It reports the suspects.
func (t *sectionSuspects) Flush() error {
	var objects []heisen.Object
	for o, v := range t.variables {
		if len(v.executions) > 0 {
			objects = append(objects, o)
		}
	}
	slices.Sort(objects)
	reported := map[[3]heisen.Site]bool{}
	for _, o := range objects {
		v := t.variables[o]
		for _, e := range v.executions {
			for _, remote := range v.remotes(e) {
				sites := [3]heisen.Site{e.Entry.Site, remote.Site, e.End.Site}
				if e.Allow&section.ModeOf(remote.Op) != 0 || reported[sites] {
					continue
				}
				reported[sites] = true
				f := overlap.Violation([]heisen.Access{e.Entry, remote, e.End})
				f.Detector = "sections"
				t.sink(f)
			}
		}
	}
	return nil
}
