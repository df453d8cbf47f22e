package suspects

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/section"
)

// TestSectionSuspects has a section that one thread goes through, and others that access the
// variable before and after it, one of them at the section's entry.
func TestSectionSuspects(t *testing.T) {
	symbols := heisen.NewSymbols()
	site := func(line int) heisen.Site {
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "/m/a.go", Line: line}}})
	}
	at := func(line int, mode section.Modes) section.Location {
		return section.Location{File: "/m/a.go", Line: line, Mode: mode}
	}
	one := section.Section{
		Entry: at(1, section.Reads),
		Ends:  []section.End{{At: at(2, section.Writes), Allow: section.Reads}, {At: at(3, section.Reads), Allow: section.Reads | section.Writes}},
	}
	var reported []string
	d, err := newSectionSuspects([]section.Section{one}, symbols, func(f heisen.Finding) {
		s := string(f.Kind)
		for _, a := range f.Accesses {
			s += fmt.Sprintf(" T%d:%d", a.Thread, symbols.Site(a.Site).Frames[0].Line)
		}
		reported = append(reported, s)
	})
	if err != nil {
		t.Fatal(err)
	}
	s1, s2, s3, s7, s8, s9 := site(1), site(2), site(3), site(7), site(8), site(9)
	const x, y = 0x100, 0x200
	for _, r := range []heisen.Record{
		{Op: heisen.Write, Thread: 1, Object: x, Site: s7},
		{Op: heisen.Write, Thread: 1, Object: y, Site: s9}, // another variable
		{Op: heisen.Read, Thread: 2, Object: x, Site: s1},
		{Op: heisen.Acquire, Thread: 2, Object: y},
		{Op: heisen.AtomicWrite, Thread: 2, Object: x, Site: s2},
		{Op: heisen.Read, Thread: 2, Object: x, Site: s1},
		{Op: heisen.Read, Thread: 2, Object: x, Site: s3}, // an end that allows everything
		{Op: heisen.Read, Thread: 3, Object: x, Site: s8}, // allowed
		{Op: heisen.Write, Thread: 2, Object: x, Site: s9},
		{Op: heisen.AtomicUpdate, Thread: 3, Object: x, Site: s8},
		{Op: heisen.Write, Thread: 1, Object: x, Site: s7},
		{Op: heisen.Read, Thread: 4, Object: x, Site: s1}, // it may come to the end in another schedule
	} {
		d.Handle(r.Event())
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "[atomicity T2:1 T1:7 T2:2 atomicity T2:1 T3:8 T2:2 atomicity T2:1 T4:2 T2:2]"
	if got := fmt.Sprint(reported); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
