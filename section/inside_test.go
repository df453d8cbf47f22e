package section_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/section"
)

// TestInside: an access at an end counts only in calls of the functions of the end. Elsewhere it gives
// the section up.
func TestInside(t *testing.T) {
	for _, folder := range []string{"/src", "C:/src"} { // the second is one of a trace from Windows
		t.Run(folder, func(t *testing.T) { testInside(t, folder) })
	}
}

func testInside(t *testing.T, folder string) {
	at := func(line int, mode section.Modes) section.Location {
		return section.Location{File: "cache.go", Line: line, Mode: mode}
	}
	end := section.End{At: at(20, section.Writes), In: []section.Lines{{File: "cache.go", First: 30, Last: 39}}}
	sections := []section.Section{{Entry: at(10, section.Reads), Above: 1, Ends: []section.End{end}}}
	const add, set, unknown = 1, 2, 0 // contexts
	locator := section.Locator{
		Folder: folder,
		Site: func(s heisen.Site) (file string, line int, variable string) {
			return folder + "/cache.go", int(s), ""
		},
		Stack: func(c heisen.Context, s heisen.Site) []heisen.Frame {
			put := heisen.Frame{File: folder + "/cache.go", Line: int(s)}
			switch c {
			case add:
				return []heisen.Frame{put, {File: folder + "/cache.go", Line: 35}, {File: folder + "/main.go", Line: 3}}
			case set:
				return []heisen.Frame{put, {File: folder + "/cache.go", Line: 40}, {File: folder + "/main.go", Line: 35}}
			}
			return nil
		},
	}
	for context, want := range map[heisen.Context]int{add: 1, set: 0, unknown: 1} {
		ended := 0
		tracker, err := section.NewTracker(sections, locator, func(section.Execution) { ended++ })
		if err != nil {
			t.Fatal(err)
		}
		tracker.Next(&heisen.Record{Op: heisen.Read, Object: 8, Site: 10, Context: context}, 1)
		tracker.Next(&heisen.Record{Op: heisen.Write, Object: 8, Site: 20, Context: context}, 2)
		if ended != want {
			t.Errorf("context %d: %d executions, want %d", context, ended, want)
		}
		tracker.Next(&heisen.Record{Op: heisen.Write, Object: 8, Site: 20, Context: add}, 3)
		if ended != want {
			t.Errorf("context %d: the section was not given up", context)
		}
	}
	locator.Stack = nil
	if !locator.Inside(&end, heisen.Access{Context: set}) {
		t.Error("without stacks, an access is known to be elsewhere")
	}
}
