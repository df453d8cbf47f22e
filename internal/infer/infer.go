package infer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"

	"github.com/heisen-go/heisen/section"
)

// Inferred is what Infer found.
type Inferred struct {
	// Sections are ordered by file and line. Their files are absolute.
	Sections []section.Section
	// Locked is how many more there would be, were it not that a lock is held from
	// the entry of each to all its ends.
	Locked int
	// Packages is how many packages were analysed.
	Packages int
	// Notes are about source that could not be analysed as it stands.
	Notes []Note
}

type options struct {
	patterns []string
	locked   bool
}

// Option changes what Infer looks for.
type Option func(*options) error

// Patterns chooses patterns by name: "load-and-store", "test-and-use",
// "consecutive". The default is the first two.
func Patterns(names ...string) Option {
	return func(o *options) error {
		if len(names) == 0 {
			return errors.New("no pattern")
		}
		for _, name := range names {
			if !slices.Contains(PatternNames(), name) {
				return fmt.Errorf("unknown pattern %q; there are %s", name, strings.Join(PatternNames(), ", "))
			}
		}
		o.patterns = names
		return nil
	}
}

// Locked includes sections that nothing can break as long as all who access the
// variable take the lock that is held there. To watch them shows who does not.
func Locked() Option {
	return func(o *options) error {
		o.locked = true
		return nil
	}
}

// PatternNames returns the names of the patterns, in the order of precedence.
func PatternNames() []string {
	return []string{loadAndStore, testAndUse, consecutive}
}

// Infer obtains atomic sections from the source of packages. What no other
// goroutine can reach is left out, as the package's documentation has it. Where
// several patterns find a section with the same entry, it is one section: that of
// the first pattern, with the ends of the others on ways that lead to none of its
// own.
//
// Packages that do not compile are left out; then there are an error, which wraps
// ErrPackages, and the sections of the other packages. Cost: compiling what the
// packages import, if that is not cached, type-checking the packages, and time
// about linear in their size, a few seconds for 100,000 lines. Infer runs the go
// command, and calls may run at the same time.
func Infer(ctx context.Context, source Source, opts ...Option) (*Inferred, error) {
	o := options{patterns: PatternNames()[:2]}
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, fmt.Errorf("static: infer sections: %w", err)
		}
	}
	l, err := source.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("static: infer sections: %w", err)
	}
	var chosen []*analysis.Analyzer
	for i, a := range Analyzers() {
		if slices.Contains(o.patterns, PatternNames()[i]) {
			chosen = append(chosen, a)
		}
	}
	graph, err := checker.Analyze(chosen, l.packages, nil)
	if err != nil {
		return nil, fmt.Errorf("static: infer sections: %w", err)
	}
	out := &Inferred{Packages: len(l.packages), Notes: l.notes}
	failed := []error{l.err}
	results := map[string][]*result{} // of each package, in the order of the patterns
	for _, a := range chosen {
		for _, root := range graph.Roots {
			switch {
			case root.Analyzer != a:
			case root.Err != nil:
				failed = append(failed, fmt.Errorf("%w: %s: %w", ErrPackages, root.Package.PkgPath, root.Err))
			default:
				results[root.Package.ID] = append(results[root.Package.ID], root.Result.(*result))
			}
		}
	}
	for _, ofPackage := range results {
		out.merge(ofPackage, o.locked)
	}
	slices.SortFunc(out.Sections, func(a, b section.Section) int {
		return cmp.Or(compareLocations(a.Entry, b.Entry), cmp.Compare(a.Variable, b.Variable))
	})
	out.Sections = unite(out.Sections)
	slices.SortFunc(out.Notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	out.Notes = slices.Compact(out.Notes)
	return out, errors.Join(failed...)
}

// merge adds what the patterns have found in a package.
func (out *Inferred) merge(results []*result, locked bool) {
	index := map[section.Location][]int{} // the sections with an entry
	ends := map[*access][]foundEnd{}      // of each entry, from the patterns before
	for _, r := range results {
		for _, a := range r.gaveUp {
			at := r.location(a)
			out.Notes = append(out.Notes, Note{at.File, at.Line, "too many ways lead on from the access to " + a.name})
		}
		for _, s := range r.found {
			if !isSource(r.fset.Position(s.entry.at).Filename) {
				continue // cgo's own
			}
			if s.locked && !locked {
				out.Locked++
				continue
			}
			known := ends[s.entry]
			s.ends = slices.DeleteFunc(slices.Clone(s.ends), func(e foundEnd) bool { return s.before(e, known) })
			ends[s.entry] = append(known, s.ends...)
			if len(s.ends) == 0 {
				continue
			}
			entry := r.location(s.entry)
			i := -1
			for _, j := range index[entry] {
				if out.Sections[j].Variable == s.entry.name {
					i = j
				}
			}
			if i < 0 {
				i = len(out.Sections)
				index[entry] = append(index[entry], i)
				out.Sections = append(out.Sections, section.Section{Variable: s.entry.name, Entry: entry, Pattern: s.pattern})
			}
			to := &out.Sections[i]
			for _, e := range s.ends {
				extend(to, section.End{At: r.location(e.access), Allow: e.allow})
			}
			to.Above = max(to.Above, s.above)
		}
	}
}

// unite makes one section of those that have the same entry and may be about the same
// variable: a name such as *p is also a pattern. The sections are sorted by entry.
func unite(sections []section.Section) (out []section.Section) {
	for _, s := range sections {
		for i := len(out) - 1; i >= 0 && out[i].Entry == s.Entry; i-- {
			other := out[i]
			switch {
			case other.Covers(s.Variable):
				s.Variable = other.Variable
			case !s.Covers(other.Variable):
				continue
			}
			if slices.Index(PatternNames(), other.Pattern) < slices.Index(PatternNames(), s.Pattern) {
				s.Pattern = other.Pattern
			}
			s.Above = max(s.Above, other.Above)
			for _, e := range other.Ends {
				extend(&s, e)
			}
			out = slices.Delete(out, i, i+1)
			i = len(out) // those before may be covered now
		}
		out = append(out, s)
	}
	return out
}

// before reports whether an end, found by a later pattern, lies on the way to one
// of those that are known: it would keep the section from getting there.
func (s *found) before(e foundEnd, known []foundEnd) bool {
	return slices.ContainsFunc(known, func(end foundEnd) bool {
		return e.ins != end.ins && (e.ins.Parent() != end.ins.Parent() || leadsTo(e.ins, end.ins, s.entry.ins.Block()))
	})
}

// extend adds an end to a section.
func extend(to *section.Section, end section.End) {
	i := slices.IndexFunc(to.Ends, func(known section.End) bool { return known.At == end.At })
	if i >= 0 {
		to.Ends[i].Allow &= end.Allow
	} else {
		to.Ends = append(to.Ends, end)
	}
	to.Circular = to.Circular || end.At == to.Entry
	slices.SortFunc(to.Ends, func(a, b section.End) int { return compareLocations(a.At, b.At) })
}

func (r *result) location(a *access) section.Location { return location(r.fset, a) }

func location(fset *token.FileSet, a *access) section.Location {
	at := fset.Position(a.at)
	return section.Location{File: filepath.ToSlash(filepath.Clean(at.Filename)), Line: at.Line, Mode: a.mode}
}

func compareLocations(a, b section.Location) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Mode, b.Mode))
}
