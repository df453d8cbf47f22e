package section_test

import (
	"errors"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/section"
)

// TestZero: zero values can be used, and nil arguments are errors.
func TestZero(t *testing.T) {
	access := &heisen.Record{Op: heisen.Read, Object: 8, Site: 1}
	for _, x := range []*section.Index{nil, {}} {
		if got := x.Roles(1, heisen.Read); got != nil {
			t.Errorf("roles %v", got)
		}
	}
	new(section.Tracker).Next(access, 1)
	var r section.Refiner
	if _, err := r.Add(section.Observation{Correct: true}); err != nil || !r.Done() || len(r.Sections()) != 0 || len(r.Refined()) != 0 {
		t.Errorf("refiner %+v: error %v", r, err)
	}
	var s section.Section
	if s.Pair(0) != (section.Pair{}) || s.Pair(-1) != (section.Pair{}) || !s.Covers("n") {
		t.Errorf("pair %v, covers %v", s.Pair(0), s.Covers("n"))
	}
	locator := section.LocateIn(nil, "")
	if file, line, variable := locator.Site(3); file != "" || line != 0 || variable != "" || locator.Depth(2) != 0 {
		t.Errorf("nil symbols locate %s:%d %s", file, line, variable)
	}
	if _, err := section.Decode(nil); !errors.Is(err, heisen.ErrOption) {
		t.Error("a nil reader is read")
	}
	if err := section.Encode(nil, nil); !errors.Is(err, heisen.ErrOption) {
		t.Error("a nil writer is written")
	}
	if _, err := section.NewTracker(nil, locator, nil); !errors.Is(err, heisen.ErrOption) {
		t.Error("a tracker for nobody")
	}
	_, noIndex := section.NewIndex(nil, section.Locator{})
	_, noTracker := section.NewTracker(nil, section.Locator{}, func(section.Execution) {})
	for function, err := range map[string]error{"section.NewIndex": noIndex, "section.NewTracker": noTracker} {
		want := function + ": wrong option: invalid atomic sections: the locator has no function Site"
		if !errors.Is(err, section.ErrInvalid) || !errors.Is(err, heisen.ErrOption) || err.Error() != want {
			t.Errorf("without a locator: error %v, want %s", err, want)
		}
	}
}

// TestPermissive: with sections of several variables at a place, an access to an unknown variable has a
// role in none of them, unless the locator is permissive.
func TestPermissive(t *testing.T) {
	at := func(line int, mode section.Modes) section.Location {
		return section.Location{File: "a.go", Line: line, Mode: mode}
	}
	sections := []section.Section{
		{Variable: "a.n", Entry: at(1, section.Reads), Ends: []section.End{{At: at(2, section.Writes)}}},
		{Variable: "b.n", Entry: at(1, section.Reads), Ends: []section.End{{At: at(3, section.Writes)}}},
	}
	for permissive, want := range map[bool]int{false: 0, true: 2} {
		x, err := section.NewIndex(sections, section.Locator{
			Site:       func(s heisen.Site) (string, int, string) { return "a.go", int(s), "" },
			Permissive: permissive,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Roles(1, heisen.AtomicRead); len(got) != want {
			t.Errorf("permissive %v: roles %v", permissive, got)
		}
		if got := x.Roles(2, heisen.Write); len(got) != 1 || got[0] != (section.Role{Section: 0, End: 0}) || got[0].IsEntry() {
			t.Errorf("permissive %v: roles %v", permissive, got)
		}
	}
}
