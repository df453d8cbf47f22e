package heal

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
)

// Profile says which pairs of accesses were atomic in correct executions. Profiles of several executions can
// be merged. The zero Profile is empty and ready to use.
type Profile struct {
	variables []ProfiledVariable // by name
	sections  []Section          // by place
	crosses   []CrossPair        // by places
}

// ProfiledVariable is what a Profile says of a variable that several threads access.
type ProfiledVariable struct {
	Name  string
	Locks []string // held at every access, by name; sorted
	Pairs []ProfiledPair
}

// ProfiledPair is two accesses that a thread made one after the other, or the calls in which it made them.
type ProfiledPair struct {
	First, Second Location
	// Mode is Exclusive if no other thread ever accessed the variable in between, Shared if others only read
	// it, and otherwise Free: the pair is not atomic.
	Mode Mode
	// Locks has the locks that were held from the first to the second access each time, and at every other
	// access to the variable; by name, sorted. They keep the pair atomic already.
	Locks []string
}

// Unnamed is the name of locks that have none. Such a lock is taken for the same one in all executions.
const Unnamed = "?"

// Location is a place in a function.
type Location struct {
	Func string // package-qualified
	File string
	Line int // from 1; 0 if unknown
	// Op is Read or Write if the place is an access, and Call if it is a call in which the access was made. It is
	// Invalid if that is unknown.
	Op heisen.Op
}

func locationOf(f heisen.Frame, op heisen.Op) Location { return Location{f.Func, f.File, f.Line, op} }

// String returns the location as file:line, or as the name of its function if it has no file.
func (l Location) String() string {
	if l.File == "" {
		return l.Func
	}
	return fmt.Sprintf("%s:%d", l.File, l.Line)
}

func compareLocations(a, b Location) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Func, b.Func), cmp.Compare(a.Op, b.Op))
}

// Variables returns all variables of the profile, by name. The result is not to be changed.
func (p *Profile) Variables() []ProfiledVariable {
	if p == nil {
		return nil
	}
	return p.variables
}

// Atomic returns the variables and pairs for which locks must be inserted: pairs that were atomic although no
// lock of the program keeps them so (rule Pairs of figure 5). Variables without such a pair are left out.
func (p *Profile) Atomic() (variables []ProfiledVariable) {
	for _, v := range p.Variables() {
		v.Pairs = slices.DeleteFunc(slices.Clone(v.Pairs), func(pair ProfiledPair) bool {
			return pair.Mode == Free || len(intersect(pair.Locks, v.Locks)) > 0
		})
		if len(v.Pairs) > 0 {
			variables = append(variables, v)
		}
	}
	return variables
}

// Rewrite returns the profile with other locations: change returns the new one, and whether it is kept. Pairs with a
// location that is not kept are left out. If locations become equal, so do pairs, and their weaker mode counts.
func (p *Profile) Rewrite(change func(variable string, at Location) (Location, bool)) *Profile {
	out := &Profile{}
	for _, v := range p.Variables() {
		w := ProfiledVariable{Name: v.Name, Locks: v.Locks}
		for _, pair := range v.Pairs {
			first, ok1 := change(v.Name, pair.First)
			second, ok2 := change(v.Name, pair.Second)
			if ok1 && ok2 {
				pair.First, pair.Second = first, second
				w.Pairs = append(w.Pairs, pair)
			}
		}
		out.add(w)
	}
	for _, s := range p.Sections() {
		at, ok := change("", s.At)
		kept := func(variable string) bool { _, ok := change(variable, s.At); return ok }
		s.Accessed, s.Written = keep(s.Accessed, kept), keep(s.Written, kept)
		if s.At = at; ok && len(s.Accessed) > 0 {
			out.addSection(s)
		}
	}
	for _, c := range p.CrossPairs() {
		first, ok1 := change(c.Variables[0], c.First)
		second, ok2 := change(c.Variables[1], c.Second)
		if c.First, c.Second = first, second; ok1 && ok2 {
			out.addCross(c)
		}
	}
	return out
}

// Merge adds the profile of another execution to p: of each pair the weaker mode, and of locks those of both.
// other may be nil, and is not changed.
func (p *Profile) Merge(other *Profile) {
	for _, v := range other.Variables() {
		p.add(v)
	}
	for _, s := range other.Sections() {
		p.addSection(s)
	}
	for _, c := range other.CrossPairs() {
		p.addCross(c)
	}
}

// add merges a variable into the profile.
func (p *Profile) add(v ProfiledVariable) {
	i, ok := slices.BinarySearchFunc(p.variables, v.Name, func(w ProfiledVariable, name string) int { return cmp.Compare(w.Name, name) })
	if !ok {
		w := ProfiledVariable{Name: v.Name, Locks: slices.Clone(v.Locks)}
		p.variables = slices.Insert(p.variables, i, w)
	}
	w := &p.variables[i]
	w.Locks = intersect(w.Locks, v.Locks)
	for _, pair := range v.Pairs {
		i, ok := slices.BinarySearchFunc(w.Pairs, pair, comparePlaces)
		if !ok {
			pair.Locks = slices.Clone(pair.Locks)
			w.Pairs = slices.Insert(w.Pairs, i, pair)
			continue
		}
		known := &w.Pairs[i]
		known.Mode, known.Locks = min(known.Mode, pair.Mode), intersect(known.Locks, pair.Locks)
	}
}

func comparePlaces(a, b ProfiledPair) int {
	return cmp.Or(compareLocations(a.First, b.First), compareLocations(a.Second, b.Second))
}

// intersect returns the strings of a that are in b.
func intersect(a, b []string) []string {
	return keep(a, func(s string) bool { return slices.Contains(b, s) })
}

// keep returns the strings for which in is true.
func keep(all []string, in func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !in(s) })
}
