package suspects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// PlaceOf returns the function of the program's own code that makes an access, and the line.
func PlaceOf(a *report.Access) (at report.Frame, known bool) {
	for _, f := range a.Stack {
		if f.File != "" && f.Line > 0 && !source.Synchronizes(f.Func) {
			return f, true
		}
	}
	return report.Frame{}, false
}

// sideOf is side for the accesses of a finding, and what counts as the same place.
func sideOf(f, race *report.Finding, at func(own, a *report.Access) bool) int {
	if len(race.Accesses) < 2 {
		return -1
	}
	found := -1
	first := &race.Accesses[0]
	for i := range f.Accesses {
		if a := &f.Accesses[i]; sameOp(a, first) && at(a, first) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// sameOp reports whether the operations of two accesses are the same, as far as they are known.
func sameOp(a, b *report.Access) bool { return a.Op == b.Op || a.Op == "" || b.Op == "" }

// SamePlace reports whether the same function makes two accesses, on the same line.
func SamePlace(a, b *report.Access) bool {
	at, known := PlaceOf(a)
	other, otherKnown := PlaceOf(b)
	return known && otherKnown && at == other
}

// MakesAccessOf reports whether the statement of an access makes one of those of a race.
func MakesAccessOf(race *report.Finding, a *report.Access) bool {
	if race.Kind != heisen.Race {
		return false
	}
	for _, pair := range race.EachPair() {
		if slices.ContainsFunc(pair.Accesses, func(of report.Access) bool { return SamePlace(&of, a) }) {
			return true
		}
	}
	return false
}

// sameLine reports whether two accesses are made on the same line.
func sameLine(a, b *report.Access) bool {
	at, known := PlaceOf(a)
	other, otherKnown := PlaceOf(b)
	return known && otherKnown && at.File == other.File && at.Line == other.Line
}

// SamePair reports whether the accesses of two findings are the same operations at the same places,
// in any order.
func SamePair(f, other *report.Finding) bool { return pairs(f, other, SamePlace) }

// pairs is samePair for what counts as the same place.
func pairs(f, other *report.Finding, samePlace func(a, b *report.Access) bool) bool {
	a, b := f.Accesses, other.Accesses
	if len(a) != 2 || len(b) != 2 {
		return false
	}
	same := func(i, j int) bool { return sameOp(&a[i], &b[j]) && samePlace(&a[i], &b[j]) }
	return same(0, 0) && same(1, 1) || same(0, 1) && same(1, 0)
}

// FirstIs returns the index of the access of a finding that is the first access of another one with the same pair.
func FirstIs(f, other *report.Finding) int {
	if a, first := &f.Accesses[0], &other.Accesses[0]; a.Op == first.Op && (SamePlace(a, first) || sameLine(a, first) && !SamePlace(&f.Accesses[1], first)) {
		return 0
	}
	return 1
}

// inOrderOf returns f with its accesses in the order of those of a finding with the same pair. The message does
// not say which one was the earlier one, because executions may have shown both orders.
func inOrderOf(f, other *report.Finding) report.Finding {
	in := *f
	in.Message = strings.ReplaceAll(fmt.Sprintf("%s and %s are not ordered", other.Accesses[0].Op, other.Accesses[1].Op), "-", " ")
	if FirstIs(other, f) == 1 {
		in.Accesses = slices.Clone(f.Accesses)
		slices.Reverse(in.Accesses)
	}
	return in
}

// inLibraries reports whether all accesses of a finding are made by libraries.
func inLibraries(r *observed.Resolver, f *report.Finding) bool {
	return !slices.ContainsFunc(f.Accesses, func(a report.Access) bool {
		at, known := PlaceOf(&a)
		return !known || !r.Toolchain.InLibrary(at.File)
	})
}

// FirstAccess describes the access of a race that came first. It is empty for other bugs, and if the accesses
// are the same operation at the same place.
func FirstAccess(f *report.Finding) string {
	if f.Kind != heisen.Race || len(f.Accesses) != 2 || f.Accesses[0].Op == f.Accesses[1].Op && SamePlace(&f.Accesses[0], &f.Accesses[1]) {
		return ""
	}
	at, _ := PlaceOf(&f.Accesses[0])
	return fmt.Sprintf("%s %s %s:%d", f.Accesses[0].Op, at.Func, at.File, at.Line)
}
