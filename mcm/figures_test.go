package mcm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/trace"
)

// figures are the figures of chapter 4 of TREE and RDIT, by figure and caveat. with and without are the
// races of the maximal causal model of the trace with and without its BarrierPairs. Sites are the
// numbers of events, unless the trace gives them.
var figures = []struct {
	name          string
	trace         string
	without, with []string
}{
	{
		// T1 sets y and T2 waits for it, both in hidden code.
		name:    "4.1",
		trace:   "T2|hide(m2)=o(y) T1|w(x) T1|hide(m1)=o(y) T1|reveal(m1) T2|reveal(m2) T2|r(x)",
		without: []string{"2-6"},
	},
	{
		name:    "4.1, the calls have nothing in common",
		trace:   "T2|hide(m2)=o(z) T1|w(x) T1|hide(m1)=o(y) T1|reveal(m1) T2|reveal(m2) T2|r(x)",
		without: []string{"2-6"},
		with:    []string{"2-6"},
	},
	{
		name:    "4.1, caveat 0",
		trace:   "T2|hide(m2) T1|w(x) T1|hide(m1) T1|reveal(m1) T2|reveal(m2) T2|r(x)",
		without: []string{"2-6"},
	},
	{
		// a comes before c and c before b; d comes before f and f before e. The two groups are not
		// ordered with each other. Threads write variables that others wrote before; T1 and T3 write
		// u at the end.
		name: "4.2",
		trace: `T1|w(ac) T1|hide(a)=o(x) T1|reveal(a)
			T3|w(df) T3|hide(d)=o(z) T3|reveal(d)
			T2|hide(c)=o(x) T2|reveal(c) T2|w(ac) T2|w(cb)
			T4|hide(f)=o(z) T4|reveal(f) T4|w(df) T4|w(fe)
			T2|hide(c)=o(x) T2|reveal(c) T1|hide(b)=o(x) T1|reveal(b) T1|w(cb) T1|w(u)
			T4|hide(f)=o(z) T4|reveal(f) T3|hide(e)=o(z) T3|reveal(e) T3|w(fe) T3|w(u)`,
		without: []string{"1-9", "10-19", "14-25", "20-26", "4-13"},
		with:    []string{"20-26"},
	},
	{
		// a and d overlap: a does not return before T3, in d, has set x to 0.
		name:    "4.3, caveat 1",
		trace:   "T1|hide(a)=o(x) T3|w(v) T3|hide(d)=o(x) T1|reveal(a) T3|reveal(d) T1|r(v)",
		without: []string{"2-6"},
	},
	{
		// The hidden calls themselves access v, and these accesses are recorded.
		name:    "4.4, caveat 2",
		trace:   "T1|hide(a)=o(x) T3|hide(d)=o(x) T1|r(v) T3|w(v) T1|reveal(a) T3|reveal(d)",
		without: []string{"3-4"},
	},
	{
		// d is not hidden: T3 reads x before it writes v.
		name:    "4.4, caveat 3",
		trace:   "T1|hide(a)=o(x) T1|r(v) T3|r(x) T3|w(v) T1|reveal(a)",
		without: []string{"2-4"},
	},
	{
		name:    "4.4, what a call passes on",
		trace:   "T1|hide(a)=o(s)o(u) T3|w(v) T3|send(s) T2|recv(u) T2|r(v) T1|reveal(a)",
		without: []string{"2-5"},
	},
	{
		name:    "4.4, what ended calls do not pass on",
		trace:   "T1|hide(a)=o(s)o(u) T1|reveal(a) T3|w(v) T3|send(s) T2|recv(u) T2|r(v)",
		without: []string{"3-6"},
		with:    []string{"3-6"},
	},
	{
		// c and e have no object in common, but each has one in common with f.
		name: "4.5, caveat 4",
		trace: `T2|w(v) T2|hide(c)=o(x)o(y) T2|reveal(c) T4|hide(f)=o(y)o(z) T4|reveal(f)
			T3|hide(e)=o(z) T3|reveal(e) T3|r(v)`,
		without: []string{"1-8"},
	},
	{
		// The user has added a global variable to the sets.
		name: "caveat 5",
		trace: `T2|w(v) T2|hide(c)=o(x)o(global) T2|reveal(c) T3|hide(e)=o(z)o(global)
			T3|reveal(e) T3|r(v)`,
		without: []string{"1-6"},
	},
	{
		// Locks hide this race from happens-before, and the BarrierPairs do not order it.
		name: "more than happens-before",
		trace: `T1|w(v) T1|acq(l) T1|rel(l) T1|hide(a)=o(x) T1|reveal(a) T2|acq(l) T2|rel(l)
			T2|hide(b)=o(y) T2|reveal(b) T2|w(v)`,
		without: []string{"1-10"},
		with:    []string{"1-10"},
	},
	{
		// Account: the sites are the lines of figure 4.6, x1 and x2 the balances, and y the total of
		// the bank. isAlive, which waits for the threads, is hidden. The text gives line 5 for the
		// write that line 17 reads, which must be line 7.
		name: "4.7",
		trace: `T0|w(y)|1 T0|w(x1)|2 T0|w(x2)|2 T0|fork(T1)|3 T0|fork(T2)|3
			T1|start|3 T1|r(x1)|4 T1|w(x1)|4 T1|r(y)|5 T1|w(y)|5 T1|stop|6
			T2|start|6 T2|r(x2)|7 T2|w(x2)|7 T2|r(y)|8 T2|w(y)|8 T2|stop|9
			T0|hide(isAlive)=t(T1)|11 T0|reveal(isAlive)|11 T0|hide(isAlive)=t(T2)|11 T0|reveal(isAlive)|11
			T0|r(x1)|16 T0|r(x2)|17 T0|r(y)|19`,
		without: []string{"4-16", "5-19", "5-8", "7-17", "8-19"},
		with:    []string{"5-8"},
	},
}

func TestFigures(t *testing.T) {
	for _, f := range figures {
		t.Run(f.name, func(t *testing.T) {
			records, symbols := parse(t, f.trace)
			seen := slices.DeleteFunc(slices.Clone(records), func(r heisen.Record) bool {
				return r.Op == heisen.Hide || r.Op == heisen.Reveal
			})
			if got := sites(symbols, predict(t, symbols, seen)); !slices.Equal(got, f.without) {
				t.Errorf("without BarrierPairs: races %v, want %v", got, f.without)
			}
			if got := sites(symbols, predict(t, symbols, records)); !slices.Equal(got, f.with) {
				t.Errorf("with BarrierPairs: races %v, want %v", got, f.with)
			}
			if got := sites(symbols, predict(t, symbols, records, mcm.WithWindows(len(records)-1, len(records)-2))); !subset(got, f.with) {
				t.Errorf("in windows: races %v, want a subset of %v", got, f.with)
			}
		})
	}
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// sites returns the pairs of sites of the races among some findings, sorted.
func sites(symbols *heisen.Symbols, found []heisen.Finding) (pairs []string) {
	for _, f := range found {
		if f.Kind == heisen.Race {
			pairs = append(pairs, symbols.Site(f.Accesses[0].Site).Text+"-"+symbols.Site(f.Accesses[1].Site).Text)
		}
	}
	slices.Sort(pairs)
	return slices.Compact(pairs)
}

// parse reads events that are separated by white space.
func parse(t *testing.T, text string) ([]heisen.Record, *heisen.Symbols) {
	t.Helper()
	var lines strings.Builder
	for i, line := range strings.Fields(text) {
		if strings.Count(line, "|") == 1 {
			line = fmt.Sprintf("%s|%d", line, i+1)
		}
		lines.WriteString(line + "\n")
	}
	return readAll(t, must.Make(trace.NewSTDReader(strings.NewReader(lines.String()))))
}
