package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/corpus"
)

// print writes the table and what stands below it.
func (c *comparison) print(w io.Writer) error {
	if err := results.Conditions(w, "./bench/rivals"); err != nil {
		return err
	}
	fmt.Fprintf(w, "Bugs that are reported in %d runs of each test, or by `heisen fuzz -time %v`; the libraries are %s. The last rows are the fixed tests in which something is reported, and the median of the seconds that all runs of the fixed tests of a class take, with what builds these tests.\n\n",
		c.runs, c.limit, c.versions)
	columns := []string{"class", "bugs"}
	for _, t := range c.tools {
		columns = append(columns, t.title)
	}
	table := results.NewTable(columns...)
	row := func(name, class string, bugs int) {
		cells := []any{name, bugs}
		for _, t := range c.tools {
			cells = append(cells, c.count(t.name, class))
		}
		table.Add(cells...)
	}
	for _, class := range corpus.Classes() {
		bugs := 0
		for _, p := range c.programs {
			if p.Class == class {
				bugs++
			}
		}
		if bugs > 0 {
			row(class, class, bugs)
		}
	}
	row("all", "", len(c.programs))
	wrong, times := []any{"false reports", ""}, []any{"seconds for a class, fixed", ""}
	for _, t := range c.tools {
		wrong, times = append(wrong, len(c.wrong(t.name))), append(times, fmt.Sprintf("%.1f", c.seconds(t.name)))
	}
	table.Add(wrong...)
	table.Add(times...)
	if err := table.Print(w); err != nil {
		return err
	}
	fmt.Fprint(w, "What a tool cannot see by design:\n\n")
	for _, t := range c.tools {
		fmt.Fprintf(w, "- %s: %s\n", t.title, t.blind)
	}
	for _, t := range c.tools {
		if tests := c.wrong(t.name); len(tests) > 0 {
			fmt.Fprintf(w, "- False reports of %s: %s.\n", t.title, strings.Join(tests, ", "))
		}
	}
	for _, problem := range c.problems() {
		fmt.Fprintf(w, "- Did not work: %s.\n", problem)
	}
	if lines := c.better(); len(lines) > 0 {
		fmt.Fprint(w, "\nBugs that other tools report and heisen does not:\n\n")
		for _, line := range lines {
			fmt.Fprintln(w, "- "+line)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// better returns, for each way to use heisen, the bugs that it does not report and another tool does, with
// the names of the tools.
func (c *comparison) better() (lines []string) {
	for _, t := range c.tools {
		if !t.heisen {
			continue
		}
		var bugs []string
		for i := range c.programs {
			p := &c.programs[i]
			var by []string
			for _, other := range c.tools {
				if !other.heisen && c.found(other.name, p) {
					by = append(by, other.title)
				}
			}
			if len(by) > 0 && !c.found(t.name, p) {
				bugs = append(bugs, fmt.Sprintf("%s/%s (%s)", p.Class, p.Test, strings.Join(by, ", ")))
			}
		}
		if len(bugs) == 0 {
			bugs = []string{"none"}
		}
		lines = append(lines, t.title+": "+strings.Join(bugs, "; ")+".")
	}
	return lines
}
