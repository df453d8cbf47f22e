package section

import (
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Index finds the sections that an access belongs to. Whatever follows threads through sections asks
// it for the roles of each access. It is for one goroutine at a time.
type Index struct {
	sections []Section
	locator  Locator
	roles    map[Location][]Role   // by location as Locator.location writes it
	known    map[accessKind][]Role // answers of Roles
}

// Role is what an access means to one section.
type Role struct {
	Section int // index of the section
	End     int // index in the section's Ends, or -1 if the access is at the section's entry
}

// IsEntry reports whether the access is at the section's entry.
func (r Role) IsEntry() bool { return r.End < 0 }

// accessKind is what decides the roles of an access.
type accessKind struct {
	site heisen.Site
	mode Modes
}

// NewIndex returns an index of sections, which it copies. The error wraps ErrInvalid if Check refuses
// the sections, and both ErrInvalid and heisen.ErrOption if the locator has no function Site.
func NewIndex(sections []Section, locator Locator) (*Index, error) {
	return newIndex("section.NewIndex", sections, locator)
}

// newIndex is NewIndex. Errors about arguments name function, which the user called.
func newIndex(function string, sections []Section, locator Locator) (*Index, error) {
	if locator.Site == nil {
		return nil, fmt.Errorf("%s: %w", function, option.Errorf("%w: the locator has no function Site", ErrInvalid))
	}
	if err := Check(sections); err != nil {
		return nil, err
	}
	x := &Index{
		sections: clone(sections), locator: locator,
		roles: map[Location][]Role{}, known: map[accessKind][]Role{},
	}
	for i := range x.sections {
		s := &x.sections[i]
		x.addRole(s.Entry, Role{i, -1})
		for j := range s.Ends {
			x.addRole(s.Ends[j].At, Role{i, j})
		}
	}
	return x, nil
}

func (x *Index) addRole(at Location, role Role) {
	at = x.locator.location(at.File, at.Line, at.Mode)
	x.roles[at] = append(x.roles[at], role)
}

// Roles returns what an access by op at site means to the sections, in the order of the sections. The
// result is empty for most accesses and for ops that access nothing. Callers must not change it. A
// repeated question costs a map lookup. The zero Index has no sections, and a nil one neither.
func (x *Index) Roles(site heisen.Site, op heisen.Op) []Role {
	if x == nil || len(x.roles) == 0 || !op.IsAccess() {
		return nil
	}
	key := accessKind{site, ModeOf(op)}
	roles, known := x.known[key]
	if !known {
		roles = x.find(key)
		x.known[key] = roles
	}
	return roles
}

// find is Roles for a question that comes for the first time.
func (x *Index) find(access accessKind) (roles []Role) {
	file, line, variable := x.locator.Site(access.site)
	if file == "" {
		return nil
	}
	candidates := x.roles[x.locator.location(file, line, access.mode)]
	names := map[string]bool{} // the Variable fields of the location's sections
	for _, role := range candidates {
		if name := x.sections[role.Section].Variable; name != "" {
			names[name] = true
		}
	}
	for _, role := range candidates {
		s := &x.sections[role.Section]
		ambiguous := variable == "" && s.Variable != "" && len(names) > 1 && !x.locator.Permissive
		if ambiguous || variable != "" && !s.Covers(variable) {
			continue
		}
		roles = append(roles, role)
	}
	return roles
}
