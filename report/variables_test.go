package report

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
)

// accounts prints two accounts in one line, and changes each in a line of its own.
const accounts = `package main

type account struct{ bal int }

var total int

func show(a, b *account, flag *bool) {
	println(a.bal, b.bal, total)
	a.bal++
	total++
	*flag = true
}
`

// TestAlternatives: two or three expressions of a line that an access may be to are told, and none if the other accesses leave one.
func TestAlternatives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main.go")
	text := "package main\n\nvar x, y, z, w int\n\nfunc f() {\n\tx, y = 1, 2\n\tx, y, z = 1, 2, 3\n\tx, y, z, w = 1, 2, 3, 4\n\ty++\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	symbols := heisen.NewSymbols()
	write := func(line int) heisen.Access {
		site := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: path, Line: line}}})
		return heisen.Access{Op: heisen.Write, Object: 8, Site: site, Size: 8}
	}
	for _, test := range []struct {
		lines    [2]int
		headline string
		names    [2]string
	}{
		{[2]int{6, 6}, "x or y: m", [2]string{"x or y", "x or y"}},
		{[2]int{7, 7}, "x or y or z: m", [2]string{"x or y or z", "x or y or z"}},
		{[2]int{8, 8}, "m", [2]string{"", ""}},
		{[2]int{6, 9}, "y: m", [2]string{"y", "y"}},
		{[2]int{8, 7}, "x or y or z: m", [2]string{"x or y or z", "x or y or z"}},
	} {
		one := heisen.Finding{Kind: heisen.Race, Message: "m", Accesses: []heisen.Access{write(test.lines[0]), write(test.lines[1])}}
		f := resolve(symbols, one)
		if got := f.headline(); got != test.headline {
			t.Errorf("lines %v: %q, want %q", test.lines, got, test.headline)
		}
		for i, want := range test.names {
			a := &f.Accesses[i]
			if got := a.Expression(); got != want || a.Variable != "" && len(a.Alternatives) > 0 {
				t.Errorf("lines %v: access %d is to %q, want %q", test.lines, i, got, want)
			}
		}
		if f.PairFingerprint() != one.Fingerprint(symbols) {
			t.Errorf("lines %v: another fingerprint", test.lines)
		}
	}
}

// TestNamesOfLocks: the locks of a cycle that stand together on a line have the names of their other acquisitions, and a step without
// a name that is an access of the finding has the name of this.
func TestNamesOfLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main.go")
	text := "package main\n\nfunc f() {\n\ta.Lock(); b.Lock()\n\tb.Lock()\n\ta.Lock()\n\tgroup.Wait()\n\tr.Lock(); m.Lock()\n\tm.Lock(); mu.Lock()\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	symbols := heisen.NewSymbols()
	at := func(line int) heisen.Site {
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: path, Line: line}}})
	}
	holding := func(lock heisen.Object, line int) heisen.Context {
		return symbols.Context(symbols.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: lock, Site: at(line)}))
	}
	const a, b heisen.Object = 8, 16
	f := resolve(symbols, heisen.Finding{Kind: heisen.Deadlock, Accesses: []heisen.Access{
		{Op: heisen.Acquire, Thread: 1, Object: b, Site: at(4), Context: holding(a, 4)},
		{Op: heisen.Acquire, Thread: 2, Object: a, Site: at(6), Context: holding(b, 5)},
	}})
	for i, want := range [2][2]string{{"b", "a"}, {"a", "b"}} {
		if got := [2]string{f.Accesses[i].Variable, f.Accesses[i].Locks[0].Variable}; got != want {
			t.Errorf("goroutine %d wants and holds %q, want %q", i, got, want)
		}
	}
	// The other lines do not tell these apart: both locks could be m.
	f = resolve(symbols, heisen.Finding{Kind: heisen.Deadlock, Accesses: []heisen.Access{
		{Op: heisen.Acquire, Thread: 1, Object: b, Site: at(8), Context: holding(a, 8)},
		{Op: heisen.Acquire, Thread: 2, Object: a, Site: at(9), Context: holding(b, 9)},
	}})
	for i, want := range [][]string{{"r", "m"}, {"m", "mu"}} {
		if x := &f.Accesses[i]; x.Variable != "" || !slices.Equal(x.Alternatives, want) || x.Locks[0].Variable != "" {
			t.Errorf("goroutine %d wants %q of %q and holds %q, want one of %q", i, x.Variable, x.Alternatives, x.Locks[0].Variable, want)
		}
	}
	if want := []string{"m or mu 0x8", "r or m 0x10", "m or mu 0x8"}; !slices.Equal(f.Cycle, want) {
		t.Errorf("cycle %q, want %q", f.Cycle, want)
	}
	waits := at(7)
	inside := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "sync.(*WaitGroup).Wait"}, {Func: "main.f", File: path, Line: 7}}})
	f = resolve(symbols, heisen.Finding{
		Kind:     heisen.Race,
		Accesses: []heisen.Access{{Op: heisen.Read, Object: 24, Site: inside}, {Op: heisen.Write, Object: 24, Site: at(5)}},
		Witness:  []heisen.Record{{Op: heisen.Write, Object: 24, Site: waits}, {Op: heisen.Write, Object: 32, Site: waits}},
	})
	if f.Accesses[0].Variable != "group" || f.Witness[0].Variable != "group" || f.Witness[1].Variable != "group" {
		t.Errorf("%q, %q and %q, want group", f.Accesses[0].Variable, f.Witness[0].Variable, f.Witness[1].Variable)
	}
}

// TestVariablesOfFindings: an expression is named if it is the only one of its line that fits the
// access and the other accesses to the same object, and none is named otherwise.
func TestVariablesOfFindings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(accounts), 0o666); err != nil {
		t.Fatal(err)
	}
	symbols := heisen.NewSymbols()
	at := func(line int) heisen.Site {
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.show", File: path, Line: line}}})
	}
	shows, changes, counts, flags := at(8), at(9), at(10), at(11)
	const r, w = heisen.Read, heisen.Write
	for _, test := range []struct {
		name          string
		accesses      []heisen.Access
		witness       []heisen.Record
		names, inStep []string
		variable      string
	}{
		{
			"one of two accounts",
			[]heisen.Access{{Op: w, Object: 8, Site: changes}, {Op: r, Object: 8, Site: shows}}, nil,
			[]string{"a.bal", ""}, nil, "a.bal",
		},
		{
			"another variable",
			[]heisen.Access{{Op: r, Object: 8, Site: shows}, {Op: w, Object: 8, Site: counts}}, nil,
			[]string{"total", "total"}, nil, "total",
		},
		{
			"neither",
			[]heisen.Access{{Op: r, Object: 8, Site: shows}, {Op: w, Object: 8, Site: flags}}, nil,
			[]string{"", "*flag"}, nil, "*flag",
		},
		{
			"only that line",
			[]heisen.Access{{Op: r, Object: 8, Site: shows}}, nil,
			[]string{""}, nil, "",
		},
		{
			"steps that tell", nil,
			[]heisen.Record{{Op: r, Object: 8, Site: shows}, {Op: r, Object: 16, Site: shows}, {Op: w, Object: 16, Site: counts}},
			nil, []string{"", "total", "total"}, "",
		},
		{
			"steps that tell about accesses",
			[]heisen.Access{{Op: r, Object: 8, Site: shows}, {Op: r, Object: 8, Site: shows}},
			[]heisen.Record{{Op: r, Object: 16, Site: shows}, {Op: w, Object: 8, Site: counts}, {Op: r, Object: 8, Site: shows}},
			[]string{"total", "total"}, []string{"", "total", "total"}, "total",
		},
	} {
		f := resolve(symbols, heisen.Finding{Kind: heisen.Race, Accesses: test.accesses, Witness: test.witness})
		for i, want := range test.names {
			if got := f.Accesses[i].Variable; got != want {
				t.Errorf("%s: access %d is to %q, want %q", test.name, i, got, want)
			}
		}
		for i, want := range test.inStep {
			if got := f.Witness[i].Variable; got != want {
				t.Errorf("%s: step %d is to %q, want %q", test.name, i, got, want)
			}
		}
		if f.Variable != test.variable {
			t.Errorf("%s: the finding is about %q, want %q", test.name, f.Variable, test.variable)
		}
	}
}
