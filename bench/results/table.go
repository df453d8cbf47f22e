package results

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Table is a table of results. Its first column has names, the others have numbers.
type Table struct {
	columns []string
	rows    [][]any
}

// NewTable returns a table without rows.
func NewTable(columns ...string) *Table { return &Table{columns: columns} }

// Add adds a row. Missing cells are empty. In Markdown, floating-point numbers have two digits after
// the point; other cells are as fmt.Sprint shows them.
func (t *Table) Add(cells ...any) {
	row := make([]any, max(len(cells), len(t.columns)))
	for i := range row {
		row[i] = ""
	}
	copy(row, cells)
	t.rows = append(t.rows, row)
}

// A Cell is a number that Markdown shows in another way, such as 1.23x. Without a value, programs read
// nothing in the cell.
type Cell struct {
	Value any
	Text  string
}

// String returns the text.
func (c Cell) String() string { return c.Text }

// Print writes the table to what Format.To returns, or as Markdown to any other writer.
func (t *Table) Print(w io.Writer) error {
	if data, ok := w.(*dataWriter); ok {
		return data.print(t)
	}
	return t.markdown(w)
}

// markdown writes the table and an empty line. In the text, too, columns are aligned.
func (t *Table) markdown(w io.Writer) error {
	lines := [][]string{t.columns}
	for _, row := range t.rows {
		lines = append(lines, texts(row))
	}
	widths := make([]int, len(t.columns))
	for _, line := range lines {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(escape(line[i])), 3)
		}
	}
	var b strings.Builder
	for n, line := range lines {
		for i, width := range widths {
			cell := escape(line[i])
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("| " + cell + pad + " |")
			} else {
				b.WriteString(" " + pad + cell + " |")
			}
		}
		b.WriteByte('\n')
		if n == 0 {
			b.WriteString(ruler(widths))
		}
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// ruler returns the line below the names of the columns. Numbers are aligned to the right.
func ruler(widths []int) string {
	line := "|"
	for i, width := range widths {
		if i == 0 {
			line += strings.Repeat("-", width+2) + "|"
		} else {
			line += strings.Repeat("-", width+1) + ":|"
		}
	}
	return line + "\n"
}

// texts returns cells as Markdown has them.
func texts(row []any) (all []string) {
	for _, cell := range row {
		if f, ok := cell.(float64); ok {
			cell = fmt.Sprintf("%.2f", f)
		}
		all = append(all, fmt.Sprint(cell))
	}
	return all
}

// escape replaces the character that separates cells.
func escape(cell string) string { return strings.ReplaceAll(cell, "|", `\|`) }

// Read returns the columns and the rows of the tables in Markdown that Print has written.
func Read(markdown string) (tables []Rows) {
	var open *Rows
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "|-"):
			open = nil
		case strings.HasPrefix(line, "|-"):
		case open == nil:
			tables = append(tables, Rows{Columns: cells(line)})
			open = &tables[len(tables)-1]
		default:
			open.Rows = append(open.Rows, cells(line))
		}
	}
	return tables
}

// Rows are the texts of a table.
type Rows struct {
	Columns []string
	Rows    [][]string
}

// cells splits a line of a table.
func cells(line string) (all []string) {
	const bar = "\x00"
	line = strings.ReplaceAll(line, `\|`, bar)
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		all = append(all, strings.ReplaceAll(strings.TrimSpace(cell), bar, "|"))
	}
	return all
}
