package heal

import (
	"cmp"
	"maps"
	"slices"
)

// Variables that are to be consistent with each other are accessed together. Section 5 of the paper makes one abstract
// variable of them, as Lu and others do (MUVI, SOSP 2007).

// Section is what a thread did with an object in one call of a function. The function may be any that control comes to in
// this call.
type Section struct {
	At       Location // of the first access, or of the call that made it
	Accessed []string // variables; sorted
	Written  []string // those of them that were written; sorted
	Count    uint64   // of such sections
}

// CrossPair is two accesses of a section to two variables of an object. The thread accessed neither of these in between.
type CrossPair struct {
	Variables     [2]string
	First, Second Location
	// Read and Written have the variables of the object that other threads have ever read or written in between; sorted.
	Read, Written []string
	Locks         []string // held from the first to the second access, each time; by name, sorted
}

// mode returns the mode of the pair in an abstract variable.
func (c *CrossPair) mode(members []string) Mode {
	switch {
	case len(intersect(c.Written, members)) > 0:
		return Free
	case len(intersect(c.Read, members)) > 0:
		return Shared
	}
	return Exclusive
}

func compareSections(a, b Section) int {
	return cmp.Or(compareLocations(a.At, b.At), slices.Compare(a.Accessed, b.Accessed), slices.Compare(a.Written, b.Written))
}

func compareCross(a, b CrossPair) int {
	return cmp.Or(compareLocations(a.First, b.First), compareLocations(a.Second, b.Second), slices.Compare(a.Variables[:], b.Variables[:]))
}

// addSection counts sections.
func (p *Profile) addSection(s Section) {
	i, ok := slices.BinarySearchFunc(p.sections, s, compareSections)
	if ok {
		p.sections[i].Count += s.Count
		return
	}
	p.sections = slices.Insert(p.sections, i, s)
}

// addCross merges a pair of accesses to two variables into the profile.
func (p *Profile) addCross(c CrossPair) {
	i, ok := slices.BinarySearchFunc(p.crosses, c, compareCross)
	if !ok {
		p.crosses = slices.Insert(p.crosses, i, c)
		return
	}
	known := &p.crosses[i]
	known.Read, known.Written, known.Locks = union(known.Read, c.Read), union(known.Written, c.Written), intersect(known.Locks, c.Locks)
}

// Sections returns the sections of objects that several threads accessed. The result is not to be changed.
func (p *Profile) Sections() []Section {
	if p == nil {
		return nil
	}
	return p.sections
}

// CrossPairs returns the pairs of accesses to two variables of an object. The result is not to be changed.
func (p *Profile) CrossPairs() []CrossPair {
	if p == nil {
		return nil
	}
	return p.crosses
}

// Groups returns the variables that belong together, of those that may. Two do if they are accessed together in most sections,
// and most says that of each of them: of the functions that access it, more than half access the other one, too. There must
// be an atomic pair of accesses to both that no lock of the program keeps so; otherwise there is nothing to gain. Groups and
// their variables are sorted.
func (p *Profile) Groups(may func(variable string) bool) (groups [][]string) {
	group := map[string]string{} // by variable: the first one of its group, to be followed
	find := func(v string) string {
		for group[v] != "" {
			v = group[v]
		}
		return v
	}
	for _, pair := range p.unprotected(may) {
		if a, b := find(pair[0]), find(pair[1]); a != b && p.correlated(pair[0], pair[1]) {
			group[max(a, b)] = min(a, b)
		}
	}
	members := map[string][]string{}
	for v := range group {
		members[find(v)] = append(members[find(v)], v)
	}
	for _, first := range slices.Sorted(maps.Keys(members)) {
		groups = append(groups, union([]string{first}, members[first]))
	}
	return groups
}

// unprotected returns the pairs of variables with an atomic pair of accesses that no lock of the program keeps so.
func (p *Profile) unprotected(may func(variable string) bool) (out [][2]string) {
	locks := map[string][]string{}
	for _, v := range p.Variables() {
		locks[v.Name] = v.Locks
	}
	for _, c := range p.CrossPairs() {
		a, b := min(c.Variables[0], c.Variables[1]), max(c.Variables[0], c.Variables[1])
		_, shared := locks[a]
		_, too := locks[b]
		guards := intersect(intersect(c.Locks, locks[a]), locks[b])
		if shared && too && may(a) && may(b) && c.mode([]string{a, b}) > Free && len(guards) == 0 && !slices.Contains(out, [2]string{a, b}) {
			out = append(out, [2]string{a, b})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return out
}

// Grouped returns the profile in which the variables of each group are one. name returns the name of the group of a
// variable, or its own. Of pairs that become equal, the stronger mode counts: no variable loses a pair by its group.
func (p *Profile) Grouped(name func(variable string) string) *Profile {
	out := &Profile{}
	pairs := map[string]map[pairKey]ProfiledPair{}
	members := map[string][]string{}
	add := func(group string, pair ProfiledPair) {
		key := pairKey{pair.First, pair.Second}
		if known, ok := pairs[group][key]; ok {
			pair.Mode, pair.Locks = max(pair.Mode, known.Mode), intersect(pair.Locks, known.Locks)
		}
		if pairs[group] == nil {
			pairs[group] = map[pairKey]ProfiledPair{}
		}
		pairs[group][key] = pair
	}
	for _, v := range p.Variables() {
		group := name(v.Name)
		members[group] = append(members[group], v.Name)
		for _, pair := range v.Pairs {
			add(group, pair)
		}
		v.Name, v.Pairs = group, nil
		out.add(v)
	}
	for _, c := range p.CrossPairs() {
		if group := name(c.Variables[0]); group == name(c.Variables[1]) {
			add(group, ProfiledPair{c.First, c.Second, c.mode(members[group]), c.Locks})
		}
	}
	for i := range out.variables {
		v := &out.variables[i]
		v.Pairs = slices.SortedFunc(maps.Values(pairs[v.Name]), comparePlaces)
	}
	return out
}

// most is the share of the functions that access one of two variables in which both must be accessed.
const most = 0.5

// correlated reports whether two variables are accessed together in most sections: see Groups.
func (p *Profile) correlated(a, b string) bool { return p.share(a, b) > most && p.share(b, a) > most }

// share returns the share of the functions that access a variable in which another one is accessed, too. A function counts by
// the share of its sections in which it does so, so that one that is called often has no more say.
func (p *Profile) share(of, with string) float64 {
	sections, both := map[string]uint64{}, map[string]uint64{}
	for _, s := range p.Sections() {
		if slices.Contains(s.Accessed, of) {
			sections[s.At.Func] += s.Count
			if slices.Contains(s.Accessed, with) {
				both[s.At.Func] += s.Count
			}
		}
	}
	sum := 0.0
	for f, n := range sections {
		sum += float64(both[f]) / float64(n)
	}
	return sum / float64(max(len(sections), 1))
}
