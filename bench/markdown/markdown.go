// Package markdown writes the results of benchmark commands: the conditions under which they were
// measured, and tables.
package markdown

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// Conditions writes a paragraph with what results depend on: the command line, the processor, the
// operating system, the versions of Go and heisen, and the date. The command line is that of a
// command of this module, as go run takes it: the package, such as ./bench/noise, and os.Args.
func Conditions(w io.Writer, pkg string) error {
	line := CommandLine(append([]string{pkg}, os.Args[1:]...)...)
	_, err := fmt.Fprintf(w, "`%s` on %s, heisen %s, %s.\n\n", line, machine(), revision(), time.Now().UTC().Format(time.DateOnly))
	return err
}

// CommandLine returns the line that runs a command of this module with arguments, as a shell takes it.
func CommandLine(args ...string) string {
	line := "go run"
	for _, arg := range args {
		if !plain.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		line += " " + arg
	}
	return line
}

// plain matches what a shell leaves as it is.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// machine describes the machine and the Go release.
func machine() string {
	model := "unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d × %s, %s/%s, %s", runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, strings.Replace(runtime.Version(), "go", "Go ", 1))
}

// revision returns the commit of the sources in the working directory, with a + if they have changed
// since.
func revision() string {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", args...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short=10", "HEAD")
	if err != nil {
		return "of an unknown commit"
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no", "--", "*.go"); err != nil || changed != "" {
		commit += "+"
	}
	return commit
}

// A Table is a table of results. Its first column has names, the others have numbers.
type Table struct {
	columns []string
	rows    [][]string
}

// NewTable returns a table without rows.
func NewTable(columns ...string) *Table { return &Table{columns: columns} }

// Add adds a row. Floating-point numbers have two digits after the point; other cells are as
// fmt.Sprint shows them. Missing cells are empty.
func (t *Table) Add(cells ...any) {
	row := make([]string, max(len(cells), len(t.columns)))
	for i, c := range cells {
		switch c := c.(type) {
		case float64:
			row[i] = fmt.Sprintf("%.2f", c)
		default:
			row[i] = fmt.Sprint(c)
		}
	}
	t.rows = append(t.rows, row)
}

// Print writes the table and an empty line. In the text, too, columns are aligned.
func (t *Table) Print(w io.Writer) error {
	widths := make([]int, len(t.columns))
	for _, row := range append([][]string{t.columns}, t.rows...) {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(escape(row[i])), 3)
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, n := range widths {
			cell := escape(row[i])
			pad := strings.Repeat(" ", n-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("| " + cell + pad + " |")
			} else {
				b.WriteString(" " + pad + cell + " |")
			}
		}
		b.WriteByte('\n')
	}
	line(t.columns)
	for i, n := range widths {
		if i == 0 {
			b.WriteString("|" + strings.Repeat("-", n+2) + "|")
		} else {
			b.WriteString(strings.Repeat("-", n+1) + ":|")
		}
	}
	b.WriteByte('\n')
	for _, row := range t.rows {
		line(row)
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// escape replaces the character that separates cells.
func escape(cell string) string { return strings.ReplaceAll(cell, "|", `\|`) }
