package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/bench/plot"
	"github.com/heisen-go/heisen/bench/results"
)

// A drawing makes a plot of tables of a section.
type drawing struct {
	section string
	name    string // of the file, without .svg
	shows   string // for those who do not see it
	svg     func(tables []results.Rows) ([]byte, error)
}

var drawings = []drawing{
	{"overhead", "overhead", "Processor time and memory of heisen test beside go test -race, by program", drawOverhead},
	{"strategies", "strategies", "Bugs found over time, by strategy", drawStrategies},
	{"detectors", "distance", "Races predicted, by the distance of their accesses", drawDistance},
	{"detectors", "threads", "Time per event, by the number of threads", scaling("threads", "Time per event, by the number of threads")},
	{"detectors", "events", "Time per event, by the number of events", scaling("events", "Time per event, by the number of events")},
}

// plots is the folder of the plots, beside the file of results.
const plots = "plots"

// pictures returns the lines of a section that show its plots.
func (s *section) pictures() string {
	var b strings.Builder
	for _, d := range drawings {
		if d.section == s.name {
			fmt.Fprintf(&b, "![%s](%s/%s.svg)\n\n", d.shows, plots, d.name)
		}
	}
	return b.String()
}

// draw writes the plots of a section, whose text has its tables.
func draw(file, section, text string) error {
	for _, d := range drawings {
		if d.section != section {
			continue
		}
		svg, err := d.svg(results.Read(text))
		if err != nil {
			return fmt.Errorf("plot %s: %w", d.name, err)
		}
		folder := filepath.Join(filepath.Dir(file), plots)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, d.name+".svg"), svg, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// drawAll draws the plots of all sections of a file that show any.
func drawAll(file string) (failed error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, parts := parse(string(text))
	for _, p := range parts {
		if !strings.Contains(p.text, "]("+plots+"/") { // it was made before it had plots, or never
			continue
		}
		if err := draw(file, p.name, p.text); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return failed
}

// drawOverhead has the cost of heisen test relative to that of go test -race, of all suites.
func drawOverhead(tables []results.Rows) ([]byte, error) {
	const column = "fasttrack/race"
	b := &plot.Bars{Title: "heisen test beside go test -race", Axis: "times the cost of go test -race", Mark: 1, Marked: "-race",
		Series: []plot.Series{{Name: "processor time"}, {Name: "memory"}}}
	for _, t := range tables {
		switch t.Columns[0] {
		case "CPU s":
			b.Names = append(b.Names, programsOf(t)...)
			b.Series[0].Values = append(b.Series[0].Values, numbers(t, column)...)
		case "MiB":
			b.Series[1].Values = append(b.Series[1].Values, numbers(t, column)...)
		}
	}
	return b.SVG()
}

// mean is the name of the last row of tables of programs.
const mean = "geometric mean"

// programsOf returns the names of the rows of a table but the last one with means.
func programsOf(t results.Rows) (names []string) {
	for _, row := range t.Rows {
		if row[0] != mean {
			names = append(names, row[0])
		}
	}
	return names
}

// numbers returns the numbers of a column, without means.
func numbers(t results.Rows, name string) (values []float64) {
	for i, c := range t.Columns {
		if c != name {
			continue
		}
		for _, row := range t.Rows {
			if row[0] != mean {
				values = append(values, parseNumber(row[i]))
			}
		}
	}
	return values
}

// parseNumber reads a number such as 1.5 or 1.5x. Anything else is not a number.
func parseNumber(text string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// find returns the first table with the names in its first two columns.
func find(tables []results.Rows, first, second string) (results.Rows, error) {
	for _, t := range tables {
		if len(t.Columns) > 1 && t.Columns[0] == first && strings.HasPrefix(t.Columns[1], second) {
			return t, nil
		}
	}
	return results.Rows{}, fmt.Errorf("there is no table of %s with %s", first, second)
}

// drawStrategies has the bugs that each strategy finds alone, by the time that its executions take.
func drawStrategies(tables []results.Rows) ([]byte, error) {
	t, err := find(tables, "strategy", "executions/s")
	if err != nil {
		return nil, err
	}
	l := &plot.Lines{Title: "Bugs found over time, by strategy", X: "milliseconds of executions of each program", Y: "programs whose bug was found", LogX: true}
	for i, rate := range numbers(t, "executions/s") {
		s := plot.Series{Name: t.Rows[i][0]}
		for k, c := range t.Columns {
			if n, ok := strings.CutPrefix(c, "found after "); ok {
				s.At = append(s.At, 1000*parseNumber(n)/rate)
				s.Values = append(s.Values, parseNumber(t.Rows[i][k]))
			}
		}
		l.Series = append(l.Series, s)
	}
	return l.SVG()
}

// drawDistance has the share of planted races that are predicted.
func drawDistance(tables []results.Rows) ([]byte, error) {
	t, err := find(tables, "detector", "from ")
	if err != nil {
		return nil, err
	}
	l := &plot.Lines{Title: "Predicted races by distance", X: "events between the accesses, at least", Y: "% of those that must be predicted", LogX: true}
	for _, row := range t.Rows {
		s := plot.Series{Name: row[0]}
		for k, c := range t.Columns[1:] {
			s.At = append(s.At, parseNumber(strings.TrimPrefix(c, "from ")))
			s.Values = append(s.Values, parseNumber(row[k+1]))
		}
		l.Series = append(l.Series, s)
	}
	return l.SVG()
}

// scaling returns what draws the time of detectors by a dimension.
func scaling(dimension, title string) func(tables []results.Rows) ([]byte, error) {
	return func(tables []results.Rows) ([]byte, error) {
		t, err := find(tables, dimension, "")
		if err != nil {
			return nil, err
		}
		l := &plot.Lines{Title: title, X: dimension, Y: "ns of processor time per event", LogX: true, LogY: true}
		for _, c := range t.Columns[1:] {
			l.Series = append(l.Series, plot.Series{Name: c, Values: numbers(t, c), At: numbers(t, dimension)})
		}
		return l.SVG()
	}
}
