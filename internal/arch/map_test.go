package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mapped are packages that the reading map lists although their room in the table has others, too.
var mapped = map[string]bool{"bench/measure": true}

// undocumented is the room without a package comment, because it has tests only.
const undocumented = "docs"

// TestReadingMap checks that the reading map in the documentation of package heisen has a line for
// every room of the table, and no others.
func TestReadingMap(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, readingMap, found := strings.Cut(string(doc), "// # Reading map\n")
	if !found {
		t.Fatal("doc.go has no reading map")
	}
	lines := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^//   - (\S+): .`).FindAllStringSubmatch(readingMap, -1) {
		name := line[1]
		if name == "heisen" {
			name = "."
		}
		if lines[name] {
			t.Errorf("the reading map in doc.go lists %s twice", name)
		}
		lines[name] = true
		if _, ok := table[name]; !ok && !mapped[name] {
			t.Errorf("the reading map in doc.go lists %s, which has no room in internal/arch/table_test.go", name)
		}
	}
	for name := range table {
		if !lines[name] {
			t.Errorf("the reading map in doc.go has no line for %s: add \"//   - %s: what it does in one sentence\"", name, name)
		}
	}
}

// TestPackageComments checks that every package has a package comment.
func TestPackageComments(t *testing.T) {
	touchTree(t)
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Doc string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		rel, _ := below(p.ImportPath)
		if p.Doc == "" && rel != undocumented {
			t.Errorf("%s has no package comment", rel)
		}
	}
}
