package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Update makes tests write what they expect.
var Update = flag.Bool("update", false, "write what tests expect")

// TestReadmeTables: the tables of commands and detectors in the documents have what the help texts say.
func TestReadmeTables(t *testing.T) {
	heisen := Tool{Name: "heisen"}
	var commandRows, detectorRows []string
	for _, c := range commands() {
		commandRows = append(commandRows, fmt.Sprintf("| `heisen %s` | %s |", c.name, heisen.named(c.short)))
	}
	for _, d := range heisen.detectors() {
		detectorRows = append(detectorRows, fmt.Sprintf("| `%s` | %s |", d.Name, d.Promise))
	}
	checkTable(t, "README.md", "commands", "| command | what it does |", commandRows)
	checkTable(t, "docs/detectors.md", "detectors", "| detector | what it reports |", detectorRows)
}

// checkTable checks the table of a name in a document, or writes it with -update.
func checkTable(t *testing.T, document, name, head string, rows []string) {
	t.Helper()
	file := filepath.Join("..", "..", filepath.FromSlash(document))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := withTable(t, string(text), name, head, rows)
	if *Update {
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("the table in %s is not what the help texts say; go test ./internal/cli -run TestReadmeTables -update writes it", document)
	}
}

// withTable returns a document with a table in the place of what is between the marks of that name.
func withTable(t *testing.T, document, name, head string, rows []string) string {
	t.Helper()
	begin, end := "<!-- table of "+name+": go test ./internal/cli -run TestReadmeTables -update -->\n", "<!-- end of the table of "+name+" -->\n"
	before, rest, found := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("there is no table of %s", name)
	}
	return before + begin + "\n" + head + "\n|---|---|\n" + strings.Join(rows, "\n") + "\n\n" + end + after
}
