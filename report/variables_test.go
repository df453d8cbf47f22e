package report

import (
	"os"
	"path/filepath"
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
