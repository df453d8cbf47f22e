package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// A tally has the verdicts of all runs of a function at one value of GOMAXPROCS.
type tally struct {
	function
	procs   int
	mayMiss bool // the detector may miss the race of this function
	runs    []verdict
}

// wrong describes the wrong verdicts, one line each kind. It returns nil if all were correct.
func (t *tally) wrong() (faults []string) {
	missed, alarms := 0, 0
	for _, v := range t.runs {
		switch {
		case v.problem != "":
			faults = append(faults, v.problem)
		case v.skipped:
		case t.racy && !v.reported:
			missed++
		case !t.racy && v.reported:
			alarms++
		}
	}
	if missed > 0 && !t.mayMiss {
		faults = append(faults, fmt.Sprintf("missed in %d of %d runs", missed, len(t.runs)))
	}
	if alarms > 0 {
		faults = append(faults, fmt.Sprintf("false alarm in %d of %d runs", alarms, len(t.runs)))
	}
	return faults
}

// skipped reports whether the function skipped itself.
func (t *tally) skipped() bool {
	return slices.ContainsFunc(t.runs, func(v verdict) bool { return v.skipped })
}

// A score counts functions, those with a race at index 0 and those without at index 1.
type score struct{ right, all [2]int }

func (s *score) add(t *tally) {
	i := 0
	if !t.racy {
		i = 1
	}
	s.all[i]++
	found := !t.racy || slices.ContainsFunc(t.runs, func(v verdict) bool { return v.reported })
	if t.wrong() == nil && (found || !t.mayMiss) {
		s.right[i]++
	}
}

// printTable prints for how many functions the verdict was correct, by file and by class. One wrong
// run makes the verdict on the function wrong.
func printTable(out io.Writer, tallies []*tally, procs []int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "file")
	for _, p := range procs {
		fmt.Fprintf(w, "\tRace %s\tNoRace", processors(p))
	}
	fmt.Fprintln(w, "\t")
	printRows(w, tallies, procs, func(t *tally) string { return t.file })
	printRows(w, tallies, procs, func(t *tally) string {
		if e, ok := exceptions[t.name]; ok {
			return e.class
		}
		return "in scope"
	})
	printRows(w, tallies, procs, func(*tally) string { return "all" })
	w.Flush()
}

// printRows prints a row for each group of functions, in the order of their first functions.
func printRows(w io.Writer, tallies []*tally, procs []int, group func(*tally) string) {
	var rows []string
	scores := map[string][]score{}
	for _, t := range tallies {
		if t.skipped() {
			continue
		}
		row := group(t)
		if scores[row] == nil {
			rows = append(rows, row)
			scores[row] = make([]score, len(procs))
		}
		scores[row][slices.Index(procs, t.procs)].add(t)
	}
	for _, row := range rows {
		fmt.Fprint(w, row)
		for _, s := range scores[row] {
			fmt.Fprintf(w, "\t%d/%d\t%d/%d", s.right[0], s.all[0], s.right[1], s.all[1])
		}
		fmt.Fprintln(w, "\t")
	}
}

func processors(n int) string {
	if n == 0 {
		return "(all processors)"
	}
	return fmt.Sprintf("(GOMAXPROCS=%d)", n)
}

// printWrong lists the functions with wrong verdicts and those that skipped themselves. It returns
// how many of them are in scope. If verbose is set, it prints the output of the first wrong run of
// each function.
func printWrong(out io.Writer, tallies []*tally, verbose bool) (inScope int) {
	skipped := map[string]bool{}
	for _, t := range tallies {
		e, excepted := exceptions[t.name]
		note := ""
		if excepted {
			note = fmt.Sprintf(" (%s: %s)", e.class, e.reason)
		}
		if t.skipped() && !skipped[t.name] {
			skipped[t.name] = true
			fmt.Fprintf(out, "skipped: %s %s%s\n", t.file, t.name, note)
			if !excepted {
				inScope++
			}
		}
		faults := t.wrong()
		if faults == nil {
			continue
		}
		if !excepted {
			inScope++
		}
		for _, fault := range faults {
			fmt.Fprintf(out, "wrong: %s %s %s: %s%s\n", t.file, t.name, processors(t.procs), fault, note)
		}
		if verbose {
			i := slices.IndexFunc(t.runs, func(v verdict) bool { return v.problem != "" || v.reported != t.racy })
			fmt.Fprintf(out, "%s\n", t.runs[i].output)
		}
	}
	return inScope
}
