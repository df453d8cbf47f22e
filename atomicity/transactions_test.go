package atomicity_test

import (
	"errors"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
)

// TestBoundaries checks where transactions begin and end: each trace is interrupted by a write of
// another thread between two reads.
func TestBoundaries(t *testing.T) {
	const interrupted = "T1|r(x)|20\nT2|w(x)|21\nT1|r(x)|22\n"
	named := func(symbols *heisen.Symbols, name string) atomicity.Option {
		return atomicity.WithSelection(func(e heisen.Event) bool { return symbols.Name(e.Object()) == name })
	}
	all := atomicity.WithBoundaries(atomicity.Marked | atomicity.CriticalSections | atomicity.Calls)
	sections, calls := atomicity.WithBoundaries(atomicity.CriticalSections), atomicity.WithBoundaries(atomicity.Calls)
	marked := atomicity.WithBoundaries(atomicity.Marked)
	for name, test := range map[string]struct {
		before, after string
		option        atomicity.Option
		selected      string
		violations    uint64
	}{
		"marked by default":                    {before: "T1|begin|1\n", violations: 1},
		"a lock is no mark":                    {before: "T1|acq(l)|1\n", option: marked},
		"a critical section":                   {before: "T1|acq(l)|1\n", option: sections, violations: 1},
		"a critical section of readers":        {before: "T1|racq(l)|1\n", option: sections, violations: 1},
		"after a critical section":             {before: "T1|acq(l)|1\nT1|rel(l)|2\n", option: sections},
		"the rest of a hand-over-hand section": {before: "T1|acq(l)|1\nT1|acq(m)|2\nT1|rel(l)|3\n", option: sections, violations: 1},
		"unlocked by another thread":           {before: "T1|acq(l)|1\nT3|rel(l)|2\n", option: sections},
		"a call":                               {before: "T1|call(f)|1\n", option: calls, violations: 1},
		"a call that has returned":             {before: "T1|call(f)|1\nT1|call(g)|2\nT1|return|3\nT1|return|4\n", option: calls},
		"a call within a call":                 {before: "T1|call(f)|1\nT1|call(g)|2\nT1|return|3\n", option: calls, violations: 1},
		"a call of the list":                   {before: "T1|call(f)|1\n", option: calls, selected: "f", violations: 1},
		"a call that is not in the list":       {before: "T1|call(f)|1\n", option: calls, selected: "g"},
		"a call of the list within another":    {before: "T1|call(f)|1\nT1|call(g)|2\n", option: calls, selected: "g", violations: 1},
		"after it":                             {before: "T1|call(f)|1\nT1|call(g)|2\nT1|return|3\n", option: calls, selected: "g"},
		"a lock of the list within another":    {before: "T1|acq(l)|1\nT1|acq(m)|2\n", option: sections, selected: "m", violations: 1},
		"a section of the list":                {before: "T1|begin(pay)|1\n", selected: "pay", violations: 1},
		"the outermost of several kinds":       {before: "T1|call(f)|1\nT1|acq(l)|2\nT1|rel(l)|3\n", option: all, violations: 1},
		"the end of the thread":                {before: "T1|begin|1\nT1|stop|2\n"},
		"an end without a begin":               {before: "T1|end|1\nT1|begin|2\n", violations: 1},
	} {
		records, symbols := readTrace(t, test.before+interrupted+test.after)
		var opts []atomicity.Option
		if test.option != nil {
			opts = append(opts, test.option)
		}
		if test.selected != "" {
			opts = append(opts, named(symbols, test.selected))
		}
		if _, violations := serialFindings(records, opts...); violations != test.violations {
			t.Errorf("%s: %d violations, want %d", name, violations, test.violations)
		}
	}
	first, _ := readTrace(t, "T1|call(f)|1\n"+interrupted)
	second, _ := readTrace(t, "T1|call(f)|1\nT1|call(g)|2\n"+interrupted)
	for i, trace := range [][]heisen.Record{first, second} {
		if _, violations := serialFindings(trace, calls, atomicity.WithoutFirstLevel()); violations != uint64(i) {
			t.Errorf("without the first level: %d violations, want %d", violations, i)
		}
	}
}

// TestOptions checks that wrong options are errors.
func TestOptions(t *testing.T) {
	for name, o := range map[string]atomicity.Option{
		"no boundaries":   atomicity.WithBoundaries(0),
		"other bits":      atomicity.WithBoundaries(8),
		"nil selection":   atomicity.WithSelection(nil),
		"a nil option":    nil,
		"known and other": atomicity.WithBoundaries(atomicity.Calls | 64),
	} {
		if _, err := atomicity.NewSerial(o); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := atomicity.NewSerial(atomicity.WithSink(nil)); err != nil {
		t.Errorf("a nil sink: %v", err)
	}
}
