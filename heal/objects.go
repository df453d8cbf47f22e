package heal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Objects tells a Profiler which variables are parts of one object, so that it finds out which of them are accessed
// together. All functions are called once for each place or pair of places.
type Objects struct {
	// Sizes has the sizes of all objects, in bytes.
	Sizes []uint64
	// Fields returns the variables that may be accessed at a place, and where they may be in an object. A variable may
	// be part of objects of several types.
	Fields func(Use) []Field
	// Section returns the index of the frame of a stack, outermost first, in whose function accesses to an object
	// belong together.
	Section func(stack []heisen.Frame) int
	// Follows reports whether control may come from one place of a function to another one in one call; if again is
	// set, from what is done at the place to the same thing.
	Follows func(first, second heisen.Frame, again bool) bool
}

// Field is a variable in an object.
type Field struct {
	Variable string
	Offset   uint64
	Size     uint64 // of the object; 0 if it is not known
	// Refers is set if an access may be to what the variable refers to, such as the elements of a slice.
	Refers bool
}

// WithObjects makes the Profile have the sections of objects and the pairs of accesses to two variables in them; see
// Profile.Groups. Each object that is accessed takes memory for the places in its sections.
func WithObjects(o Objects) ProfilerOption {
	return func(p *Profiler) error {
		if o.Fields == nil || o.Section == nil || o.Follows == nil {
			return option.Errorf("WithObjects: a function is nil")
		}
		p.objects = &objects{
			Objects: o, profiler: p, allocated: map[heisen.Object]uint64{}, known: map[heisen.Object]*object{},
			fields: map[Use][]Field{}, places: map[accessPlace]sectionPlace{}, calls: map[string]int{}, follows: map[followKey]bool{},
		}
		return nil
	}
}

// objects follows the objects of a program.
type objects struct {
	Objects
	profiler *Profiler

	allocated map[heisen.Object]uint64 // sizes of memory that may be an object
	known     map[heisen.Object]*object
	fields    map[Use][]Field
	places    map[accessPlace]sectionPlace
	calls     map[string]int // numbers of the calls that sections are in
	follows   map[followKey]bool
	ended     Profile
}

// sectionPlace is the call that has a section, and where it makes the access, or the call that does.
type sectionPlace struct {
	call  int
	frame heisen.Frame
	inner bool // it is a call
}

type followKey struct {
	first, second heisen.Frame
	again         bool
}

// object is an object that is accessed. What is observed of it counts once two threads have accessed it.
type object struct {
	thread    heisen.Thread // the first one
	shared    bool
	variables []string // that were accessed
	certain   bool     // it is an object, and not something that a variable refers to
	open      []*openSection
	sections  map[string]*Section
	pairs     map[crossKey]*observedCross
}

type crossKey struct {
	variables [2]string
	pairKey
}

// observedCross is what was observed of a pair of accesses to two variables.
type observedCross struct {
	read, written []string // by others in between
	locks         lockSet  // held from the first to the second access, each time
}

// openSection is a section that a thread may still be in.
type openSection struct {
	thread heisen.Thread
	begin  Location
	last   sectionPlace
	steps  uint64 // accesses so far
	latest []latestField
}

// latestField is the latest access of a section to a variable.
type latestField struct {
	variable      string
	wrote         bool // in this section
	step          uint64
	place         accessPlace
	op            heisen.Op
	held          []heldInstance
	read, written []string // variables that others have accessed since
}

// alloc takes memory that is allocated or released.
func (o *objects) alloc(at heisen.Object, size uint64, released bool) {
	if known := o.known[at]; known != nil {
		o.end(&o.ended, known)
		delete(o.known, at)
	}
	delete(o.allocated, at)
	if !released && slices.Contains(o.Sizes, size) {
		o.allocated[at] = size
	}
}

// access takes an access.
func (o *objects) access(r *heisen.Record, place accessPlace, op heisen.Op, held []heldInstance) {
	use := Use{r.Site, op == heisen.Write}
	fields, ok := o.fields[use]
	if !ok {
		fields = o.Fields(use)
		o.fields[use] = fields
	}
	if len(fields) == 0 {
		return
	}
	base, field, ok := o.resolve(r.Object, fields)
	if !ok {
		return
	}
	known := o.known[base]
	if known == nil {
		known = &object{thread: r.Thread, sections: map[string]*Section{}, pairs: map[crossKey]*observedCross{}}
		o.known[base] = known
	}
	known.shared = known.shared || known.thread != r.Thread
	if !slices.Contains(known.variables, field.Variable) {
		known.variables = append(known.variables, field.Variable)
	}
	known.certain = known.certain || !field.Refers || len(known.variables) > 1
	for _, s := range known.open {
		if s.thread != r.Thread {
			s.remote(field.Variable, op)
		}
	}
	s := o.section(known, r.Thread, place, op, field.Variable)
	s.steps++
	at := slices.IndexFunc(s.latest, func(l latestField) bool { return l.variable == field.Variable })
	if at < 0 {
		at = len(s.latest)
		s.latest = append(s.latest, latestField{variable: field.Variable})
	}
	for i := range s.latest {
		if l := &s.latest[i]; i != at && l.step > s.latest[at].step {
			o.pair(known, l, field.Variable, place, op, held)
		}
	}
	s.latest[at] = latestField{variable: field.Variable, wrote: s.latest[at].wrote || op == heisen.Write, step: s.steps, place: place, op: op, held: held}
}

// resolve finds the object and the variable of an access.
func (o *objects) resolve(at heisen.Object, fields []Field) (base heisen.Object, field Field, ok bool) {
	for _, f := range fields {
		start := at - heisen.Object(f.Offset)
		if f.Size > 0 && o.allocated[start] == f.Size && (!ok || f.Size > field.Size) {
			base, field, ok = start, f, true
		}
	}
	if ok {
		return base, field, ok
	}
	// It is a package-level variable or an element of a larger object. The largest type that has the variable stands for all.
	several := slices.ContainsFunc(fields, func(f Field) bool { return f.Variable != fields[0].Variable })
	for _, f := range fields {
		start := at - heisen.Object(f.Offset)
		if known := o.known[start]; several && (known == nil || !known.certain) {
			continue
		}
		if !ok || f.Size > field.Size {
			base, field, ok = start, f, true
		}
	}
	return base, field, ok
}

// remote notes an access of another thread.
func (s *openSection) remote(variable string, op heisen.Op) {
	for i := range s.latest {
		seen := &s.latest[i].read
		if op == heisen.Write {
			seen = &s.latest[i].written
		}
		if !slices.Contains(*seen, variable) {
			*seen = append(*seen, variable)
		}
	}
}

// section returns the section of a thread that an access belongs to.
func (o *objects) section(of *object, thread heisen.Thread, place accessPlace, op heisen.Op, variable string) *openSection {
	here := o.sectionPlace(place)
	i := slices.IndexFunc(of.open, func(s *openSection) bool { return s.thread == thread })
	if i >= 0 {
		s := of.open[i]
		again := slices.ContainsFunc(s.latest, func(l latestField) bool { return l.variable == variable && l.place == place && l.op == op })
		if s.last.call == here.call && o.follow(s.last.frame, here.frame, false) && (!again || o.follow(here.frame, here.frame, true)) {
			s.last = here
			return s
		}
		of.close(s)
		of.open = slices.Delete(of.open, i, i+1)
	}
	if here.inner {
		op = heisen.Call
	}
	s := &openSection{thread: thread, begin: locationOf(here.frame, op), last: here}
	of.open = append(of.open, s)
	return s
}

func (o *objects) sectionPlace(place accessPlace) sectionPlace {
	at, ok := o.places[place]
	if ok {
		return at
	}
	stack := o.profiler.stack(place)
	i := min(max(o.Section(stack), 0), len(stack)-1)
	var b strings.Builder
	for _, f := range stack[:i] {
		fmt.Fprintf(&b, "%s:%d\n", f.File, f.Line)
	}
	b.WriteString(stack[i].Func)
	call, ok := o.calls[b.String()]
	if !ok {
		call = len(o.calls)
		o.calls[b.String()] = call
	}
	at = sectionPlace{call, stack[i], i < len(stack)-1}
	o.places[place] = at
	return at
}

func (o *objects) follow(first, second heisen.Frame, again bool) bool {
	key := followKey{first, second, again}
	follows, ok := o.follows[key]
	if !ok {
		follows = o.Follows(first, second, again)
		o.follows[key] = follows
	}
	return follows
}

// close counts a section that is over.
func (of *object) close(s *openSection) {
	out := Section{At: s.begin, Count: 1}
	for _, l := range s.latest {
		out.Accessed = append(out.Accessed, l.variable)
		if l.wrote {
			out.Written = append(out.Written, l.variable)
		}
	}
	slices.Sort(out.Accessed)
	slices.Sort(out.Written)
	key := fmt.Sprint(out)
	if known := of.sections[key]; known != nil {
		known.Count++
	} else {
		of.sections[key] = &out
	}
}

// pair takes the latest access of a section to a variable and one to another variable.
func (o *objects) pair(of *object, l *latestField, variable string, place accessPlace, op heisen.Op, held []heldInstance) {
	key := crossKey{[2]string{l.variable, variable}, o.profiler.frontier(l.place, place, l.op, op)}
	pair := of.pairs[key]
	if pair == nil {
		pair = &observedCross{}
		of.pairs[key] = pair
	}
	pair.read, pair.written = union(pair.read, l.read), union(pair.written, l.written)
	pair.locks.keep(held, func(h heldInstance) bool { return slices.Contains(l.held, h) })
}

// end puts what was observed of an object into a profile.
func (o *objects) end(profile *Profile, of *object) {
	if !of.shared || !of.certain {
		return
	}
	counted := object{sections: map[string]*Section{}}
	for key, s := range of.sections {
		copied := *s
		counted.sections[key] = &copied
	}
	for _, s := range of.open {
		counted.close(s)
	}
	for _, s := range counted.sections {
		profile.addSection(*s)
	}
	for key, pair := range of.pairs {
		profile.addCross(CrossPair{key.variables, key.first, key.second, union(nil, pair.read), union(nil, pair.written), o.profiler.names(pair.locks.locks)})
	}
}

// observed adds what has been observed so far to a profile.
func (o *objects) observed(profile *Profile) {
	profile.Merge(&o.ended)
	for _, of := range o.known {
		o.end(profile, of)
	}
}

// union returns the sorted union of sets of strings.
func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
