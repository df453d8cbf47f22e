package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ownership"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// checked is a line of the table about atomicity.
type checked struct {
	name          string
	events        int
	transactions  int
	verified      int
	bounded       bool
	read          []float64 // seconds for reading the events alone
	full, focused []float64 // seconds with the checker
	violations    [2]uint64
}

// compareAtomicity compares the block-based algorithm with the focused one on recorded traces.
func compareAtomicity(w io.Writer, count int, only string) error {
	var rows []*checked
	if err := recordEach(only, func(p program, file string) error {
		row := &checked{name: p.name}
		rows = append(rows, row)
		return row.measure(file, count)
	}); err != nil {
		return err
	}
	return printAtomicity(w, rows)
}

// measure checks a trace count times in each way, in turn.
func (c *checked) measure(file string, count int) error {
	records, symbols, err := readTrace(file)
	if err != nil {
		return err
	}
	c.events = len(records)
	boundaries := atomicity.WithBoundaries(atomicity.CriticalSections)
	atomic, err := c.atomicPlaces(records, symbols, boundaries)
	if err != nil {
		return err
	}
	verified := atomicity.WithVerified(func(e heisen.Event) bool { return atomic[e.Site()] })
	for range count {
		for way, opts := range [][]atomicity.Option{nil, {boundaries}, {boundaries, verified}} {
			d := heisen.Tee()
			var blocks *atomicity.Blocks
			if opts != nil {
				if blocks, err = atomicity.NewBlocks(opts...); err != nil {
					return err
				}
				d = blocks
			}
			before := measure.ProcessorTime()
			_, err := heisen.Run(context.Background(), heisen.Slice(records), d)
			seconds := (measure.ProcessorTime() - before).Seconds()
			if err != nil && !errors.Is(err, atomicity.ErrDropped) {
				return err
			}
			c.bounded = c.bounded || err != nil
			switch way {
			case 0:
				c.read = append(c.read, seconds)
			case 1:
				c.full, c.violations[0] = append(c.full, seconds), blocks.Violations()
			case 2:
				c.focused, c.violations[1] = append(c.focused, seconds), blocks.Violations()
			}
		}
	}
	return nil
}

// atomicPlaces returns the places where transactions begin in functions that are atomic, as the static check of the
// program's source says, and counts the transactions.
func (c *checked) atomicPlaces(records []heisen.Record, symbols *heisen.Symbols, boundaries atomicity.Option) (atomic map[heisen.Site]bool, err error) {
	pkg := "./bench/focus/programs/" + c.name
	proved, err := ownership.Analyze(context.Background(), ssaload.Source{Packages: []string{pkg}})
	if err != nil {
		return nil, err
	}
	path, err := module()
	if err != nil {
		return nil, err
	}
	main := path + strings.TrimPrefix(pkg, ".")
	atomic = map[heisen.Site]bool{}
	d, err := atomicity.NewSerial(boundaries, atomicity.WithSelection(func(e heisen.Event) bool {
		c.transactions++
		site := e.Site()
		is, known := atomic[site]
		if !known {
			for _, frame := range symbols.Site(site).Frames {
				is = is || proved.Plan.Functions[focus.FunctionOf(frame.Func, main)].Atomic
			}
			atomic[site] = is
		}
		if is {
			c.verified++
		}
		return true
	}))
	if err != nil {
		return nil, err
	}
	_, err = heisen.Run(context.Background(), heisen.Slice(records), d)
	return atomic, err
}

func printAtomicity(w io.Writer, rows []*checked) error {
	if err := results.Conditions(w, "./bench/focus"); err != nil {
		return err
	}
	fmt.Fprint(w, "Processor time of the checker on one recorded trace of each program, in seconds, beyond that of reading the events. Transactions are outermost critical sections. Those are verified that begin in a function which heisen infer proves atomic. Removed is the part of full checking's time that focused checking does not need.\n\n")
	table := results.NewTable("program", "events", "transactions", "verified", "reading", "full", "focused", "removed", "violations full", "focused")
	var removals []float64
	bounded := []string{}
	for _, r := range rows {
		read := measure.Median(r.read)
		full, focused := measure.Median(r.full)-read, measure.Median(r.focused)-read
		removals = append(removals, (full-focused)/full)
		share := "–"
		if r.transactions > 0 {
			share = percent(float64(r.verified) / float64(r.transactions))
		}
		if r.bounded {
			bounded = append(bounded, r.name)
		}
		table.Add(r.name, r.events, r.transactions, share, fmt.Sprintf("%.3f", read), fmt.Sprintf("%.3f", full), fmt.Sprintf("%.3f", focused),
			percent((full-focused)/full), r.violations[0], r.violations[1])
	}
	if err := table.Print(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "Median removed %s.", percent(measure.Median(removals)))
	if len(bounded) > 0 {
		fmt.Fprintf(w, " More had to be stored than the bounds of the checkers allow in %s, so violations may be missing there.", strings.Join(bounded, ", "))
	}
	fmt.Fprint(w, "\n\n")
	paper := results.NewTable("published (table 2)", "plain", "interception", "full (block-based)", "focused", "removed", "focused / all")
	for _, row := range publishedAtomicity {
		paper.Add(row...)
	}
	return paper.Print(w)
}

// publishedAtomicity has the figures of the paper's Table 2: seconds of the program, and of what is added by
// intercepting events, by full and by focused checking; the part of full checking that focused checking
// removes, and the share of focused checking in the running time.
var publishedAtomicity = [][]any{
	{"elevator", "0.2", "0.14", "0.32", "0.30", "8.6 %", "46.5 %"},
	{"tsp(12)", "0.3", "9.59", "8.89", "8.49", "4.5 %", "46.2 %"},
	{"tsp(14)", "0.48", "17.06", "387.0", "393.0", "-1.5 %", "95.7 %"},
	{"hedc", "0.6", "0.22", "0.64", "0.55", "15.0 %", "40.0 %"},
	{"moldyn", "44.03", "1430", "172.7", "129.5", "25.0 %", "8.1 %"},
	{"montecarlo", "15.85", "443.2", "10.3", "0", "100 %", "0 %"},
	{"raytracer", "14.34", "594", "44.8", "24.2", "46.0 %", "3.8 %"},
}
