package unhook

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/focus"
)

// FuzzReadListing: whatever the compiler prints, a second version of the same package changes nothing, only functions of
// files with proved lines need no hooks, and none of them if all functions may be expanded in place.
func FuzzReadListing(f *testing.F) {
	const text = "\t0x0000 00000 (/m/a.go:10)\tTEXT\tm.f(SB), ABIInternal, $8-8\n"
	const read = "\t0x0001 00001 (/m/a.go:12)\tCALL\truntime.raceread(SB)\n"
	f.Add(text + read)
	f.Add(text + read + "\t0x0001 00001 (/m/a.go:12)\tCALL\tAX\n" + text + read)
	f.Add("./a.go:10:6: can inline f\n" + text + read)
	f.Add("\t0x0000 00000 (b/a.go:10)\tTEXT\tm.(*t[go.shape.int]).f(SB), $8-8\n" + read + "# n\n\t0x0002 00002 (/m/a.go:1)\tJMP\t44")
	typed := map[focus.Function]focus.Properties{"m.f": {Typed: true}, "m.(*t[go.shape.int]).f": {Typed: true}}
	plan := &focus.Plan{Functions: typed, Files: map[string]focus.File{"a.go": {Reads: focus.Lines{{First: 10, Last: 20}}}}}
	source := Source{Folders: map[string]string{"/m": "."}}
	f.Fuzz(func(t *testing.T, listing string) {
		read := func(text string) *Listing {
			l, err := ReadListing(strings.NewReader(text), "/m", source, plan)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		version := "# m\n" + listing + "\n"
		once := read(version)
		if twice := read(version + version); !maps.Equal(once.found, twice.found) {
			t.Errorf("once %v, twice %v", once.found, twice.found)
		}
		expanded := version
		for of := range once.found {
			expanded += of.file + ":" + strconv.Itoa(of.line) + ":6: can inline " + of.name + "\n"
		}
		all := read(expanded)
		for of, hooks := range once.found {
			if hooks != Needed && !strings.Contains(listing, "runtime.race") {
				t.Errorf("%v has no hooks, and needs none", of)
			}
			if inPlan := of.file == "a.go"; inPlan && all.Of(of.file, of.line, of.name) != Needed {
				t.Errorf("%v is expanded in place, and needs no hooks", of)
			}
		}
	})
}
