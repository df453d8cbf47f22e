package main

import (
	"fmt"
	"strings"
)

// The table stands between these lines of the document.
const (
	begins = "<!-- go run ./internal/testaid/verdicts -->"
	ends   = "<!-- end of the verdicts -->"
)

// none stands in a cell without a result.
const none = "–"

// table has results by the names of cells.
type table map[string]string

// cellName returns the name of a cell.
func cellName(port, release, suite string) string { return port + "/" + release + "/" + suite }

// parse reads the table in a document.
func parse(document string) (t table, err error) {
	_, rows, err := split(document)
	if err != nil {
		return nil, err
	}
	t = table{}
	for line := range strings.Lines(rows) {
		fields := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(fields) != 2+len(suites) || !strings.Contains(fields[0], "/") {
			continue // the heading
		}
		for i, s := range suites {
			if cell := strings.TrimSpace(fields[2+i]); cell != none && cell != "" {
				t[cellName(strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1]), s.name)] = cell
			}
		}
	}
	return t, nil
}

// split returns the parts of a document around the table, and the table.
func split(document string) (around [2]string, rows string, err error) {
	before, rest, found := strings.Cut(document, begins+"\n")
	rows, after, also := strings.Cut(rest, ends)
	if !found || !also {
		return around, "", fmt.Errorf("the document has no lines %q and %q", begins, ends)
	}
	return [2]string{before + begins + "\n", ends + after}, rows, nil
}

// replace returns a document with the table for some releases.
func (t table) replace(document string, releases []string) (string, error) {
	around, _, err := split(document)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("\n| port | Go |")
	for _, s := range suites {
		b.WriteString(" " + s.title + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(suites)) + "\n")
	for _, p := range ports {
		for _, release := range releases {
			fmt.Fprintf(&b, "| %s | %s |", p.name, release)
			for _, s := range suites {
				cell := t[cellName(p.name, release, s.name)]
				if cell == "" {
					cell = none
				}
				b.WriteString(" " + cell + " |")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n")
	return around[0] + b.String() + around[1], nil
}
