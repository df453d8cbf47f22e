package vclock_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

// The figures of chapter 4 of TREE and RDIT. What stands in the greyed-out part of
// a figure, the events within hidden calls, is not in the traces.
var figures = []struct {
	name    string
	trace   string   // events, of which the site is the number of the event if there is none
	without []string // races that happens-before reports without BarrierPairs
	with    []string // and with them
}{
	{
		// T1 sets y, and T2 waits for it, both in hidden calls.
		name: "4.1",
		trace: `
			T2|hide(m2)=o(y)
			T1|w(x)
			T1|hide(m1)=o(y)
			T1|reveal(m1)
			T2|reveal(m2)
			T2|r(x)`,
		without: []string{"2-6"},
	},
	{
		name: "4.1, the calls have nothing in common",
		trace: `
			T2|hide(m2)=o(z)
			T1|w(x)
			T1|hide(m1)=o(y)
			T1|reveal(m1)
			T2|reveal(m2)
			T2|r(x)`,
		without: []string{"2-6"},
		with:    []string{"2-6"},
	},
	{
		name: "4.1, caveat 0: nothing is known of what the calls reach",
		trace: `
			T2|hide(m2)
			T1|w(x)
			T1|hide(m1)
			T1|reveal(m1)
			T2|reveal(m2)
			T2|r(x)`,
		without: []string{"2-6"},
	},
	{
		// Edges a -> c -> b and d -> f -> e, and none between these two groups: each
		// call is preceded by a write of all variables that follow, and all threads
		// write u in the end.
		name: "4.2",
		trace: `
			T1|w(ac)
			T1|hide(a)=o(x)
			T1|reveal(a)
			T3|w(df)
			T3|hide(d)=o(z)
			T3|reveal(d)
			T2|hide(c)=o(x)
			T2|reveal(c)
			T2|w(ac)
			T2|w(cb)
			T4|hide(f)=o(z)
			T4|reveal(f)
			T4|w(df)
			T4|w(fe)
			T2|hide(c)=o(x)
			T2|reveal(c)
			T1|hide(b)=o(x)
			T1|reveal(b)
			T1|w(cb)
			T1|w(u)
			T4|hide(f)=o(z)
			T4|reveal(f)
			T3|hide(e)=o(z)
			T3|reveal(e)
			T3|w(fe)
			T3|w(u)`,
		without: []string{"1-9", "4-13", "10-19", "14-25", "20-26"},
		with:    []string{"20-26"},
	},
	{
		// a and d overlap in time: a cannot end before T3, in d, has set x to 0.
		name: "4.3, caveat 1",
		trace: `
			T1|hide(a)=o(x)
			T3|w(v)
			T3|hide(d)=o(x)
			T1|reveal(a)
			T3|reveal(d)
			T1|r(v)`,
		without: []string{"2-6"},
	},
	{
		// The accesses of v are made by the hidden calls, and observed.
		name: "4.4, caveat 2",
		trace: `
			T1|hide(a)=o(x)
			T3|hide(d)=o(x)
			T1|r(v)
			T3|w(v)
			T1|reveal(a)
			T3|reveal(d)`,
		without: []string{"3-4"},
	},
	{
		// d is not hidden: T3 waits for x before it writes v.
		name: "4.4, caveat 3",
		trace: `
			T1|hide(a)=o(x)
			T1|r(v)
			T3|r(x)
			T3|w(v)
			T1|reveal(a)`,
		without: []string{"2-4"},
	},
	{
		// But ordinary accesses of what a call reaches are not ordered by each other.
		name: "4.4, races of what a call reaches",
		trace: `
			T1|hide(a)=o(x)
			T3|w(x)
			T2|w(x)
			T1|reveal(a)`,
		without: []string{"2-3"},
		with:    []string{"2-3"},
	},
	{
		// The code of a may wait for the message s and then send u.
		name: "4.4, what a call passes on",
		trace: `
			T1|hide(a)=o(s)o(u)
			T3|w(v)
			T3|send(s)
			T2|recv(u)
			T2|r(v)
			T1|reveal(a)`,
		without: []string{"2-5"},
	},
	{
		name: "4.4, what a call and another one pass on",
		trace: `
			T1|hide(a)=o(s)o(p)
			T4|hide(b)=o(u)o(p)
			T3|w(v)
			T3|send(s)
			T2|recv(u)
			T2|r(v)
			T4|reveal(b)
			T1|reveal(a)`,
		without: []string{"3-6"},
	},
	{
		name: "4.4, what ended calls do not pass on",
		trace: `
			T1|hide(a)=o(s)o(u)
			T1|reveal(a)
			T3|w(v)
			T3|send(s)
			T2|recv(u)
			T2|r(v)`,
		without: []string{"3-6"},
		with:    []string{"3-6"},
	},
	{
		// c and e reach nothing in common, but both something with f.
		name: "4.5, caveat 4",
		trace: `
			T2|w(v)
			T2|hide(c)=o(x)o(y)
			T2|reveal(c)
			T4|hide(f)=o(y)o(z)
			T4|reveal(f)
			T3|hide(e)=o(z)
			T3|reveal(e)
			T3|r(v)`,
		without: []string{"1-8"},
	},
	{
		// A global variable is in the set because the user says so.
		name: "4.5, caveat 5",
		trace: `
			T2|w(v)
			T2|hide(c)=o(x)o(global)
			T2|reveal(c)
			T3|hide(e)=o(z)o(global)
			T3|reveal(e)
			T3|r(v)`,
		without: []string{"1-6"},
	},
	{
		// Account: the sites are lines of figure 4.6; x1 and x2 are the balances, y is
		// BankTotal. isAlive, hidden, is what waits for the threads. (The text names
		// the false alarm of line 17 with line 5, which writes y; x2, which line 17
		// reads, is written by line 7.)
		name: "4.7",
		trace: `
			T0|w(y)|1
			T0|w(x1)|2
			T0|w(x2)|2
			T0|fork(T1)|3
			T0|fork(T2)|3
			T1|start
			T1|r(x1)|4
			T1|w(x1)|4
			T1|r(y)|5
			T1|w(y)|5
			T1|stop
			T2|start
			T2|r(x2)|7
			T2|w(x2)|7
			T2|r(y)|8
			T2|w(y)|8
			T2|stop
			T0|hide(isAlive)=t(T1)|11
			T0|reveal(isAlive)|11
			T0|hide(isAlive)=t(T2)|11
			T0|reveal(isAlive)|11
			T0|r(x1)|16
			T0|r(x2)|17
			T0|r(y)|19`,
		without: []string{"4-16", "5-8", "5-19", "7-17", "8-19"},
		with:    []string{"5-8"},
	},
}

// figure parses the trace of a figure.
func figure(t *testing.T, text string) ([]heisen.Record, *heisen.Symbols) {
	var lines strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if line = strings.TrimSpace(line); strings.Count(line, "|") == 1 {
			line += fmt.Sprintf("|%d", i+1)
		}
		lines.WriteString(line + "\n")
	}
	r := must.Make(trace.NewSTDReader(strings.NewReader(lines.String())))
	var records []heisen.Record
	if _, err := heisen.Run(context.Background(), r, collector{&records}); err != nil {
		t.Fatal(err)
	}
	return records, r.Symbols()
}

type collector struct{ records *[]heisen.Record }

func (c collector) Handle(e heisen.Event) { *c.records = append(*c.records, *heisen.AsRecord(e)) }
func (collector) Flush() error            { return nil }

// racesOf returns the pairs of sites of a detector's findings.
func racesOf(t *testing.T, records []heisen.Record, symbols *heisen.Symbols, d func(heisen.Sink) heisen.Detector) []string {
	found, err := findingsOf(records, d)
	if err != nil {
		t.Fatal(err)
	}
	var races []string
	for _, f := range found {
		races = append(races, symbols.Site(f.Accesses[0].Site).Text+"-"+symbols.Site(f.Accesses[1].Site).Text)
	}
	slices.SortFunc(races, func(a, b string) int {
		var a1, a2, b1, b2 int
		fmt.Sscanf(a, "%d-%d", &a1, &a2)
		fmt.Sscanf(b, "%d-%d", &b1, &b2)
		return cmp.Or(cmp.Compare(a1, b1), cmp.Compare(a2, b2))
	})
	return slices.Compact(races)
}

func TestFigures(t *testing.T) {
	for _, f := range figures {
		t.Run(f.name, func(t *testing.T) {
			records, symbols := figure(t, f.trace)
			if got := racesOf(t, records, symbols, reference); !slices.Equal(got, f.without) {
				t.Errorf("without BarrierPairs: races %v, want %v", got, f.without)
			}
			fastTrack, reference := with(symbols)
			if got := racesOf(t, records, symbols, reference); !slices.Equal(got, f.with) {
				t.Errorf("with BarrierPairs: races %v, want %v", got, f.with)
			}
			// No pair of lines races at two variables in these traces, so FastTrack finds
			// the first race of each variable.
			got := racesOf(t, records, symbols, fastTrack)
			for _, race := range got {
				if !slices.Contains(f.with, race) {
					t.Errorf("FastTrack finds %s, which is none", race)
				}
			}
			if len(got) == 0 != (len(f.with) == 0) {
				t.Errorf("FastTrack finds %v of %v", got, f.with)
			}
		})
	}
}

// TestBarrierPairsWithoutSymbols: nothing is known of what is reached, so it is
// everything.
func TestBarrierPairsWithoutSymbols(t *testing.T) {
	records, symbols := figure(t, figures[1].trace)
	got := racesOf(t, records, symbols, func(s heisen.Sink) heisen.Detector {
		return must.Make(vclock.NewHappensBefore(vclock.WithSink(s), vclock.WithBarrierPairs(nil)))
	})
	if len(got) > 0 {
		t.Errorf("races %v", got)
	}
}
