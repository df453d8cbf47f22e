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
	// Name names a range of bytes that is a variable by its place in an object, as the function of WithUses does for others.
	Name func(variable string, uses []Use) string
	// Section returns the index of the frame of a stack, outermost first, in whose function accesses to an object
	// belong together, and a name for the function and those that are part of it.
	Section func(stack []heisen.Frame) (frame int, function string)
	// Follows reports whether control may come from one place of a function to another one in one call; if again is
	// set, from what is done at the place to the same thing.
	Follows func(first, second heisen.Frame, again bool) bool
}

// Field is a variable in an object.
type Field struct {
	Variable string
	Offset   uint64
	Size     uint64 // of the object; 0 if it is not known
	// Refers is set if an access may be to what the variable refers to, such as the elements of a slice. If Writes is set,
	// what it refers to may be written at the place.
	Refers, Writes bool
}

// WithObjects makes the Profile have the sections of objects and the pairs of accesses to two variables in them; see
// Profile.Groups. Each object that is accessed takes memory for the places in its sections.
func WithObjects(o Objects) ProfilerOption {
	return func(p *Profiler) error {
		if o.Fields == nil || o.Name == nil || o.Section == nil || o.Follows == nil {
			return option.Errorf("WithObjects: a function is nil")
		}
		p.objects = &objects{
			Objects: o, profiler: p, allocated: map[heisen.Object]uint64{}, known: map[heisen.Object]*object{}, variables: map[string]variable{},
			fields: map[Use][]followedField{}, begins: map[accessPlace]*sectionBegin{}, calls: map[string]int{}, follows: map[followKey]bool{}, crosses: map[crossPlaces]*crossKey{},
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
	variables map[string]variable // numbers
	names     []string            // by number
	fields    map[Use][]followedField
	begins    map[accessPlace]*sectionBegin
	calls     map[string]int // numbers of the calls that sections are in
	follows   map[followKey]bool
	crosses   map[crossPlaces]*crossKey
	ended     Profile
}

// maxObjects bounds the objects that are followed at a time. Programs may have millions that only one thread accesses.
const maxObjects = 1 << 14

// variable is the number of a variable.
type variable int32

type followedField struct {
	Field
	variable variable
}

// sectionBegin is the call that has a section, and the frame in which it makes an access, or the call that does.
type sectionBegin struct {
	call  int
	frame heisen.Frame
	inner bool // it is a call
}

type followKey struct {
	first, second *sectionBegin
	again         bool
}

// object is an object that is accessed. What is observed of it counts once two threads have accessed it.
type object struct {
	thread    heisen.Thread // the first one
	shared    bool
	certain   bool       // it is an object, and not something that a variable refers to
	variables []variable // that were accessed
	open      []*openSection
	sections  []countedSection
	pairs     []observedCross
}

// countedSection is sections that are over.
type countedSection struct {
	begin             *sectionBegin
	op                heisen.Op
	accessed, written []variable // in the order of the first accesses
	count             uint64
}

// crossPlaces is a pair of accesses to two variables, and crossKey what it is in a profile.
type crossPlaces struct {
	frontierKey
	variables [2]variable
}

type crossKey struct {
	variables [2]variable
	pairKey
}

// observedCross is what was observed of a pair of accesses to two variables.
type observedCross struct {
	*crossKey
	read, written []variable // by others in between
	locks         lockSet    // held from the first to the second access, each time
}

// openSection is a section that a thread may still be in.
type openSection struct {
	thread      heisen.Thread
	begin, last *sectionBegin
	op          heisen.Op
	steps       uint64 // accesses so far
	latest      []latestField
}

// latestField is the latest access of a section to a variable.
type latestField struct {
	variable      variable
	wrote         bool // in this section
	step          uint64
	place         accessPlace
	op            heisen.Op
	held          []heldInstance
	read, written []variable // that others have accessed since
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

// fieldsAt returns the variables that may be accessed at a place.
func (o *objects) fieldsAt(use Use) []followedField {
	fields, ok := o.fields[use]
	if !ok {
		for _, f := range o.Fields(use) {
			n, known := o.variables[f.Variable]
			if !known {
				n = variable(len(o.names))
				o.variables[f.Variable], o.names = n, append(o.names, f.Variable)
			}
			fields = append(fields, followedField{f, n})
		}
		o.fields[use] = fields
	}
	return fields
}

// access takes an access. It returns the variable if the place in an object tells it.
func (o *objects) access(r *heisen.Record, place accessPlace, op heisen.Op, held []heldInstance) (name string) {
	fields := o.fieldsAt(Use{r.Site, op == heisen.Write})
	if len(fields) == 0 {
		return ""
	}
	base, field, ok := o.resolve(r.Object, fields)
	if !ok {
		return ""
	}
	if !field.Refers && o.allocated[base] == field.Size {
		name = field.Variable
	}
	known := o.known[base]
	if known == nil {
		if len(o.known) >= maxObjects {
			o.observed(&o.ended)
			clear(o.known)
		}
		known = &object{thread: r.Thread}
		o.known[base] = known
	}
	known.shared = known.shared || known.thread != r.Thread
	known.variables = with(known.variables, field.variable)
	known.certain = known.certain || !field.Refers || len(known.variables) > 1
	writes := op == heisen.Write || field.Writes
	for _, s := range known.open {
		if s.thread != r.Thread {
			s.remote(field.variable, writes)
		}
	}
	s := o.section(known, r.Thread, place, op, field.variable)
	s.steps++
	at := slices.IndexFunc(s.latest, func(l latestField) bool { return l.variable == field.variable })
	if at < 0 {
		at = len(s.latest)
		s.latest = append(s.latest, latestField{variable: field.variable})
	}
	now := &s.latest[at]
	for i := range s.latest {
		if l := &s.latest[i]; i != at && l.step > now.step {
			o.pair(known, l, field.variable, place, op, held)
		}
	}
	*now = latestField{variable: field.variable, wrote: now.wrote || writes, step: s.steps, place: place, op: op, held: held}
	return name
}

// with adds a variable to a set.
func with(set []variable, v variable) []variable {
	if !slices.Contains(set, v) {
		set = append(set, v)
	}
	return set
}

// resolve finds the object and the variable of an access.
func (o *objects) resolve(at heisen.Object, fields []followedField) (base heisen.Object, field followedField, ok bool) {
	for _, f := range fields {
		start := at - heisen.Object(f.Offset)
		if f.Size > 0 && o.allocated[start] == f.Size && (!ok || f.Size > field.Size) {
			base, field, ok = start, f, true
		}
	}
	if ok {
		return base, field, ok
	}
	// It is a package-level variable or part of something larger. The largest type that has the variable stands for all.
	several := slices.ContainsFunc(fields, func(f followedField) bool { return f.variable != fields[0].variable })
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
func (s *openSection) remote(v variable, writes bool) {
	for i := range s.latest {
		if l := &s.latest[i]; writes {
			l.written = with(l.written, v)
		} else {
			l.read = with(l.read, v)
		}
	}
}

// section returns the section of a thread that an access belongs to.
func (o *objects) section(of *object, thread heisen.Thread, place accessPlace, op heisen.Op, v variable) *openSection {
	here := o.beginOf(place)
	i := slices.IndexFunc(of.open, func(s *openSection) bool { return s.thread == thread })
	if i < 0 {
		i = len(of.open)
		of.open = append(of.open, &openSection{})
	} else {
		s := of.open[i]
		again := slices.ContainsFunc(s.latest, func(l latestField) bool { return l.variable == v && l.place == place && l.op == op })
		if s.last.call == here.call && o.follow(s.last, here, false) && (!again || o.follow(here, here, true)) {
			s.last = here
			return s
		}
		of.sections = counted(of.sections, s)
	}
	if here.inner {
		op = heisen.Call
	}
	s := of.open[i]
	*s = openSection{thread: thread, begin: here, last: here, op: op, latest: s.latest[:0]}
	return s
}

func (o *objects) beginOf(place accessPlace) *sectionBegin {
	at := o.begins[place]
	if at != nil {
		return at
	}
	stack := o.profiler.stack(place)
	i, function := o.Section(stack)
	i = min(max(i, 0), len(stack)-1)
	var b strings.Builder
	for _, f := range stack[:i] {
		fmt.Fprintf(&b, "%s:%d\n", f.File, f.Line)
	}
	b.WriteString(function)
	call, ok := o.calls[b.String()]
	if !ok {
		call = len(o.calls)
		o.calls[b.String()] = call
	}
	at = &sectionBegin{call, stack[i], i < len(stack)-1}
	o.begins[place] = at
	return at
}

func (o *objects) follow(first, second *sectionBegin, again bool) bool {
	key := followKey{first, second, again}
	follows, ok := o.follows[key]
	if !ok {
		follows = o.Follows(first.frame, second.frame, again)
		o.follows[key] = follows
	}
	return follows
}

// counted adds a section that is over to those of an object.
func counted(sections []countedSection, s *openSection) []countedSection {
	over := countedSection{begin: s.begin, op: s.op, count: 1}
	for _, l := range s.latest {
		over.accessed = append(over.accessed, l.variable)
		if l.wrote {
			over.written = append(over.written, l.variable)
		}
	}
	for i := range sections {
		if c := &sections[i]; c.begin == over.begin && c.op == over.op && slices.Equal(c.accessed, over.accessed) && slices.Equal(c.written, over.written) {
			c.count++
			return sections
		}
	}
	return append(sections, over)
}

// pair takes the latest access of a section to a variable and one to another variable.
func (o *objects) pair(of *object, l *latestField, v variable, place accessPlace, op heisen.Op, held []heldInstance) {
	at := crossPlaces{frontierKey{l.place, place, l.op, op}, [2]variable{l.variable, v}}
	key := o.crosses[at]
	if key == nil {
		key = &crossKey{at.variables, o.profiler.frontier(l.place, place, l.op, op)}
		o.crosses[at] = key
	}
	i := slices.IndexFunc(of.pairs, func(known observedCross) bool { return known.crossKey == key })
	if i < 0 {
		i = len(of.pairs)
		of.pairs = append(of.pairs, observedCross{crossKey: key})
	}
	pair := &of.pairs[i]
	for _, other := range l.read {
		pair.read = with(pair.read, other)
	}
	for _, other := range l.written {
		pair.written = with(pair.written, other)
	}
	pair.locks.keep(held, func(h heldInstance) bool { return slices.Contains(l.held, h) })
}

// end puts what was observed of an object into a profile.
func (o *objects) end(profile *Profile, of *object) {
	if !of.shared || !of.certain {
		return
	}
	sections := slices.Clone(of.sections)
	for _, s := range of.open {
		sections = counted(sections, s)
	}
	for _, s := range sections {
		profile.addSection(Section{locationOf(s.begin.frame, s.op), o.named(s.accessed), o.named(s.written), s.count})
	}
	for _, pair := range of.pairs {
		profile.addCross(CrossPair{
			[2]string{o.names[pair.variables[0]], o.names[pair.variables[1]]}, pair.first, pair.second,
			o.named(pair.read), o.named(pair.written), o.profiler.names(pair.locks.locks),
		})
	}
}

// named returns the sorted names of variables.
func (o *objects) named(all []variable) (names []string) {
	for _, v := range all {
		names = append(names, o.names[v])
	}
	slices.Sort(names)
	return names
}

// observed adds what has been observed of the objects to a profile.
func (o *objects) observed(profile *Profile) {
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
