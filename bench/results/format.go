package results

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
)

// A Format is the form in which a command prints its results.
type Format string

// Flag defines the flag -format of a command, to be called before flag.Parse.
func Flag() *Format {
	f := Format("markdown")
	flag.Var(&f, "format", "print results in a `form`: markdown, csv, or json with one object for each table")
	return &f
}

// String returns the name of the form.
func (f *Format) String() string { return string(*f) }

// Set chooses a form by its name.
func (f *Format) Set(name string) error {
	if !slices.Contains([]string{"markdown", "csv", "json"}, name) {
		return fmt.Errorf("want markdown, csv or json")
	}
	*f = Format(name)
	return nil
}

// To returns a writer for Conditions, sentences and tables. As CSV and JSON, sentences are what a table
// is about if they stand above it, and are left out if no table follows.
func (f *Format) To(w io.Writer) io.Writer {
	if *f == "markdown" {
		return w
	}
	return &dataWriter{out: w, csv: *f == "csv"}
}

// A dataWriter writes tables for other programs.
type dataWriter struct {
	out        io.Writer
	csv        bool
	conditions conditions
	about      strings.Builder // what was written since the last table
	printed    bool            // a table
}

// Write keeps sentences.
func (d *dataWriter) Write(p []byte) (int, error) { return d.about.Write(p) }

// print writes a table with what it depends on and what it is about.
func (d *dataWriter) print(t *Table) error {
	about := strings.Join(strings.Fields(d.about.String()), " ")
	d.about.Reset()
	first := !d.printed
	d.printed = true
	if !d.csv {
		return t.json(d.out, d.conditions, about)
	}
	head := ""
	if !first {
		head = "\n"
	} else if d.conditions.Command != "" {
		head = "# " + d.conditions.String() + "\n"
	}
	if about != "" {
		head += "# " + about + "\n"
	}
	if _, err := io.WriteString(d.out, head); err != nil {
		return err
	}
	return t.csv(d.out)
}

// csv writes the table with a line for the names of the columns.
func (t *Table) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	records := [][]string{distinct(t.columns)}
	for _, row := range t.rows {
		var record []string
		for _, cell := range row {
			text := fmt.Sprint(value(cell))
			if value(cell) == nil {
				text = ""
			}
			record = append(record, text)
		}
		records = append(records, record)
	}
	return out.WriteAll(records)
}

// json writes the table as an object in one line.
func (t *Table) json(w io.Writer, c conditions, about string) error {
	rows := [][]any{}
	for _, row := range t.rows {
		var values []any
		for _, cell := range row {
			values = append(values, value(cell))
		}
		rows = append(rows, values)
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(struct {
		conditions
		About   string   `json:"about,omitempty"`
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
	}{c, about, distinct(t.columns), rows})
}

// distinct returns names of columns of which no two are the same, as programs need them: the second
// filter is "filter (2)".
func distinct(columns []string) (names []string) {
	for _, c := range columns {
		name := c
		for n := 2; slices.Contains(names, name); n++ {
			name = fmt.Sprintf("%s (%d)", c, n)
		}
		names = append(names, name)
	}
	return names
}

// value returns what a program reads in a cell: nothing, a number or a text. A command that has
// formatted a number itself has given a text.
func value(cell any) any {
	switch c := cell.(type) {
	case Cell:
		if c.Value == nil {
			return nil
		}
		return value(c.Value)
	case float64:
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return nil
		}
		return c
	case int, int64, uint64, uint32, int32, uint:
		return c
	}
	text := fmt.Sprint(cell)
	switch {
	case text == "":
		return nil
	case number.MatchString(text):
		return json.Number(text)
	}
	return text
}

// number matches numbers as JSON has them.
var number = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?$`)
