package repro

import (
	"cmp"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// explanation selects the steps of an execution that explain it to people: the
// first and the last operation of a goroutine between two switches, the operations at targets, and the acquisitions of locks for which
// goroutines wait at the end. With the acquisition of a lock it has the release, and the other way around. It finds nothing.
type explanation struct {
	symbols *heisen.Symbols
	with    *build.Toolchain // whose standard library and whose modules are not code of the program
	targets []recorder.Target
	folders []string // whose code is explained besides
	tests   []string // that the bug concerns; empty for all
	places  map[heisen.Site]*place
	synced  map[heisen.Object]bool // what goroutines synchronize by: accesses to it are part of that
	tried   map[attempt]bool       // attempts that are kept

	events    uint64 // their number so far
	all       []numbered
	last      numbered // of the running thread, if it is not in all
	pending   bool
	held      map[heisen.Object][]numbered // acquisitions of locks that are held
	acquired  *numbered                    // the acquisition of what the present record releases, or nil
	meetingAt int                          // the length of all at the latest meeting, or 0
	steps     []report.Step
}

// place is what an explanation knows about a site.
type place struct {
	program bool               // code of the program and not of libraries, or a target
	within  bool               // in a package that implements synchronization
	method  bool               // in package sync, and no attempt to lock
	targets []*recorder.Target // at this line
}

// numbered is a record with its number among the events.
type numbered struct {
	heisen.Record
	number  uint64
	partner *numbered // of the acquisition of a lock the release, of a release the acquisition; nil if it is not known
}

// attempt is a place at which a goroutine has tried to use an object in vain.
type attempt struct {
	thread heisen.Thread
	site   heisen.Site
}

// Bounds on the steps before and after the latest meeting.
const (
	maxBefore = 30
	maxAfter  = 20
)

// maxTried bounds the attempts that are kept, and maxHeld the acquisitions of a lock, which may have many readers.
const (
	maxTried = 20
	maxHeld  = 4
)

// newExplanation returns an explanation of a suspect. tests are those that the bug is about. If it is a bug of a dependency, the
// code of that is explained, too.
func newExplanation(symbols *heisen.Symbols, with *build.Toolchain, s *suspects.Suspect, tests []string) *explanation {
	return &explanation{
		symbols: symbols, with: with, targets: s.Places(), folders: foldersOf(&s.Finding, with), tests: tests, places: map[heisen.Site]*place{},
		synced: map[heisen.Object]bool{}, tried: map[attempt]bool{},
		held: map[heisen.Object][]numbered{},
	}
}

// foldersOf returns the folders of the dependencies that make the accesses of a finding.
func foldersOf(f *report.Finding, with *build.Toolchain) (folders []string) {
	for i := range f.Accesses {
		if at, known := suspects.PlaceOf(&f.Accesses[i]); known && with.InLibrary(at.File) && !with.InStandardLibrary(at.File) {
			folders = append(folders, filepath.Dir(at.File))
		}
	}
	return folders
}

func (s *explanation) handle(r *heisen.Record) {
	s.events++
	switch r.Op {
	case heisen.Begin, heisen.End, heisen.Alloc, heisen.Free, heisen.Call, heisen.Return:
		return
	}
	p := s.place(r.Site)
	switch r.Op {
	case heisen.Send, heisen.Receive, heisen.Change, heisen.Observe:
		s.synced[r.Object] = true
	case heisen.Read, heisen.Write:
		if p.within && len(p.targets) == 0 {
			return
		}
	}
	s.acquired = nil
	if r.Op.IsLock() {
		s.hold(r, p.program)
	}
	if !p.program {
		return
	}
	if n := len(s.all); n > 0 && !s.pending && r.Op == heisen.Receive {
		if looked := &s.all[n-1]; looked.Op == heisen.Observe && looked.Thread == r.Thread && looked.Site == r.Site {
			looked.Record = *r // it has found the channel closed
			return
		}
	}
	if at := (attempt{r.Thread, r.Site}); r.Op == heisen.Observe && !p.method && !s.tried[at] && len(s.tried) < maxTried {
		s.tried[at] = true
		s.keepLast()
		s.keep(r)
		return
	}
	if n := len(s.all); n == 0 || s.current() != r.Thread {
		s.keepLast()
		s.keep(r)
		return
	}
	for _, t := range p.targets {
		if t.Mode&modeAt(r.Op) != 0 {
			s.keep(r)
			return
		}
	}
	s.last, s.pending = s.numbered(r), true
}

// numbered returns the present record.
func (s *explanation) numbered(r *heisen.Record) numbered { return numbered{*r, s.events, s.acquired} }

// hold notes the acquisition of a lock, or its release.
func (s *explanation) hold(r *heisen.Record, program bool) {
	held := s.held[r.Object]
	switch {
	case r.Op == heisen.Release || r.Op == heisen.ReleaseShared:
		at := slices.IndexFunc(held, func(a numbered) bool { return a.Thread == r.Thread })
		if at >= 0 || r.Op == heisen.Release && len(held) == 1 {
			s.pair(held[max(at, 0)], r)
		}
		if at < 0 { // another thread has acquired it
			at = 0
		}
		if held = slices.Delete(held, at, min(at+1, len(held))); len(held) == 0 {
			delete(s.held, r.Object)
			return
		}
	case !program || len(held) == maxHeld || !s.concerns(r):
		return
	default:
		held = append(held, s.numbered(r))
	}
	s.held[r.Object] = held
}

// pair notes that the present record releases what another one has acquired.
func (s *explanation) pair(acquired numbered, r *heisen.Record) {
	released := s.numbered(r)
	if s.pending && s.last.number == acquired.number {
		s.last.partner = &released
	}
	if i, kept := slices.BinarySearchFunc(s.all, acquired.number, func(n numbered, number uint64) int { return cmp.Compare(n.number, number) }); kept {
		s.all[i].partner = &released
	}
	s.acquired = &acquired
}

// concerns reports whether a record belongs to one of the tests that the bug is about.
func (s *explanation) concerns(r *heisen.Record) bool {
	test := s.symbols.Task(r.Thread, r.Context)
	return test == "" || len(s.tests) == 0 || slices.Contains(s.tests, controlled.TopLevel(test))
}

// current returns the running thread.
func (s *explanation) current() heisen.Thread { return s.all[len(s.all)-1].Thread }

// keepLast keeps the last operation of the thread that stops running.
func (s *explanation) keepLast() {
	if s.pending {
		s.all, s.pending = append(s.all, s.last), false
	}
}

func (s *explanation) keep(r *heisen.Record) {
	s.pending = false
	if !s.concerns(r) {
		return
	}
	s.all = append(s.all, s.numbered(r))
	if over := len(s.all) - 4*(maxBefore+maxAfter); over > 0 && (s.meetingAt == 0 || s.meetingAt > over+maxBefore) {
		s.all = append(s.all[:0], s.all[over:]...)
		s.meetingAt = max(s.meetingAt-over, 0)
	}
}

// meeting marks the latest step as the one at which goroutines met.
func (s *explanation) meeting() { s.meetingAt = len(s.all) }

// selected returns the steps around the latest meeting, the acquisitions of the awaited locks by those who hold them, and what belongs to
// the acquisitions and releases among these.
func (s *explanation) selected(awaited []heisen.Object) (records []heisen.Record) {
	s.keepLast()
	all := s.all
	if s.meetingAt > 0 && len(all) > s.meetingAt+maxAfter {
		all = all[:s.meetingAt+maxAfter]
	}
	all = slices.Clone(all[max(0, len(all)-maxBefore-maxAfter):])
	for _, lock := range awaited {
		all = append(all, s.held[lock]...)
	}
	for _, r := range all {
		if r.partner != nil {
			all = append(all, *r.partner)
		}
	}
	slices.SortStableFunc(all, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	for _, r := range slices.CompactFunc(all, func(a, b numbered) bool { return a.number == b.number }) {
		records = append(records, r.Record)
	}
	return records
}

func (s *explanation) place(site heisen.Site) *place {
	p := s.places[site]
	if p != nil {
		return p
	}
	p = &place{}
	s.places[site] = p
	for _, f := range s.symbols.Site(site).Frames {
		if f.File == "" || source.Synchronizes(f.Func) {
			p.within, p.method = true, p.method || strings.HasPrefix(f.Func, "sync.") && !strings.Contains(f.Func, ".Try")
			continue
		}
		p.program = (!s.with.InLibrary(f.File) || slices.Contains(s.folders, filepath.Dir(f.File))) && f.File != "_testmain.go" && f.File != "<autogenerated>"
		for i := range s.targets {
			if t := &s.targets[i]; t.File == f.File && t.Line == f.Line && (t.Func == "" || t.Func == f.Func) {
				p.targets, p.program = append(p.targets, t), true
			}
		}
		break
	}
	return p
}

func modeAt(op heisen.Op) recorder.TargetMode {
	switch op {
	case heisen.Read, heisen.AtomicRead:
		return recorder.OnRead
	case heisen.Write, heisen.AtomicWrite, heisen.AtomicUpdate:
		return recorder.OnWrite
	case heisen.Acquire, heisen.AcquireShared:
		return recorder.OnLock
	}
	return 0
}

// words returns the selected records as the steps of a witness, without those that say nothing: accesses to what
// has no name, unless they are at targets, accesses that are part of synchronization, and the parts of an operation on
// a channel but one. If nothing is left, all steps with a name are.
func (s *explanation) words(r *observed.Resolver, awaited []heisen.Object) (steps []report.Step) {
	records := s.selected(awaited)
	all := r.Resolve(heisen.Finding{Witness: records}, s.symbols).Witness
	for i := range all {
		if all[i].Variable == "" && records[i].Op.IsLock() {
			s.nameUpdate(&records[i], &all[i], r)
		}
		s.addCall(&records[i], &all[i], r)
		if s.tells(&records[i], &all[i]) && !s.isInside(&records[i], &all[i], all) {
			steps = addStep(steps, all[i])
		}
	}
	if len(steps) == 0 { // what synchronizes by itself is better than nothing
		return slices.DeleteFunc(all, func(s report.Step) bool { return s.Variable == "" })
	}
	return steps
}

// nameUpdate makes an update of a step at a lock that is none of the program's: one in an object with atomic methods, such as a
// sync.Map, of which the source has a call.
func (s *explanation) nameUpdate(r *heisen.Record, step *report.Step, resolver *observed.Resolver) {
	update := *r
	update.Op = heisen.AtomicUpdate
	if named := resolver.Resolve(heisen.Finding{Witness: []heisen.Record{update}}, s.symbols).Witness[0]; named.Variable != "" {
		*step = named
	}
}

// addCall adds to a step in the standard library where the program has called that.
func (s *explanation) addCall(r *heisen.Record, step *report.Step, resolver *observed.Resolver) {
	call, called := resolver.InProgram(heisen.AccessOf(r, 0), s.symbols)
	if called == "" {
		return
	}
	if at := resolver.Resolve(heisen.Finding{Accesses: []heisen.Access{call}}, s.symbols).Accesses[0].Site; at != step.Site {
		step.Call, step.Caller = called, at
	}
}

func (s *explanation) tells(r *heisen.Record, step *report.Step) bool {
	if r.Op != heisen.Read && r.Op != heisen.Write {
		return true
	}
	at := s.place(r.Site).targets
	return slices.ContainsFunc(at, func(t *recorder.Target) bool { return t.Mode&modeAt(r.Op) != 0 }) || step.Variable != "" && !s.synced[r.Object]
}

// isInside reports whether a step is an access, at no target, that a method makes to what goroutines synchronize by, such as Wait of a
// WaitGroup: another step is what the method does.
func (s *explanation) isInside(r *heisen.Record, step *report.Step, all []report.Step) bool {
	if r.Op != heisen.Read && r.Op != heisen.Write || step.Verb != "" || len(s.place(r.Site).targets) > 0 {
		return false
	}
	return slices.ContainsFunc(all, func(other report.Step) bool {
		return other.Verb != "" && other.Site == step.Site && other.Variable == step.Variable
	})
}

// addStep adds a step, or makes one of it and the latest one if both are parts of an operation on a channel: the part
// stays that orders goroutines.
func addStep(steps []report.Step, next report.Step) []report.Step {
	if n := len(steps); n > 0 && partOfMessage(&steps[n-1]) && partOfMessage(&next) {
		last := &steps[n-1]
		learns := last.Op == heisen.Receive.String() && next.Op == heisen.Observe.String() // that a channel is closed
		tries := strings.HasPrefix(last.Verb, "try to ") && strings.HasSuffix(last.Verb, strings.TrimPrefix(next.Verb, "fail to "))
		if last.Thread == next.Thread && last.Site == next.Site && (last.Verb == next.Verb && last.Variable == next.Variable || learns || tries) {
			if last.Op != last.Verb && !learns || tries {
				*last = next
			}
			return steps
		}
	}
	if n := len(steps); n > 0 && sameStep(&steps[n-1], &next) {
		return steps
	}
	return append(steps, next)
}

// sameStep reports whether two steps are the same in all that is told of them.
func sameStep(a, b *report.Step) bool {
	return reflect.DeepEqual(a, b)
}

func partOfMessage(s *report.Step) bool { return s.Verb != "" }
