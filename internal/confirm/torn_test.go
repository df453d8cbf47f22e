package confirm

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
)

// TestTorn has a section that one thread goes through, and others that access the
// variable before and after it, one of them at the section's entry.
func TestTorn(t *testing.T) {
	symbols := heisen.NewSymbols()
	site := func(line int) heisen.Site {
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "/m/a.go", Line: line}}})
	}
	at := func(line int, mode atomrace.Modes) atomrace.Location {
		return atomrace.Location{File: "/m/a.go", Line: line, Mode: mode}
	}
	section := atomrace.Section{
		Entry: at(1, atomrace.Reads),
		Ends:  []atomrace.End{{At: at(2, atomrace.Writes), Allow: atomrace.Reads}, {At: at(3, atomrace.Reads), Allow: atomrace.Reads | atomrace.Writes}},
	}
	var told []string
	d := newTorn([]atomrace.Section{section}, symbols, func(f heisen.Finding) {
		s := string(f.Kind)
		for _, a := range f.Accesses {
			s += fmt.Sprintf(" T%d:%d", a.Thread, symbols.Site(a.Site).Frames[0].Line)
		}
		told = append(told, s)
	})
	s1, s2, s3, s7, s8, s9 := site(1), site(2), site(3), site(7), site(8), site(9)
	const x, y = 0x100, 0x200
	for _, r := range []heisen.Record{
		{Code: heisen.Write, TID: 1, Obj: x, Loc: s7},
		{Code: heisen.Write, TID: 1, Obj: y, Loc: s9}, // another variable
		{Code: heisen.Read, TID: 2, Obj: x, Loc: s1},
		{Code: heisen.Acquire, TID: 2, Obj: y},
		{Code: heisen.AtomicWrite, TID: 2, Obj: x, Loc: s2},
		{Code: heisen.Read, TID: 2, Obj: x, Loc: s1},
		{Code: heisen.Read, TID: 2, Obj: x, Loc: s3}, // an end that allows everything
		{Code: heisen.Read, TID: 3, Obj: x, Loc: s8}, // allowed
		{Code: heisen.Write, TID: 2, Obj: x, Loc: s9},
		{Code: heisen.AtomicUpdate, TID: 3, Obj: x, Loc: s8},
		{Code: heisen.Write, TID: 1, Obj: x, Loc: s7},
		{Code: heisen.Read, TID: 4, Obj: x, Loc: s1}, // it may come to the end in another schedule
	} {
		d.HandleRecords([]heisen.Record{r})
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "[atomicity T2:1 T1:7 T2:2 atomicity T2:1 T3:8 T2:2 atomicity T2:1 T4:2 T2:2]"
	if got := fmt.Sprint(told); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
