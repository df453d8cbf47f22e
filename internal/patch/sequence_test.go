package patch_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/report"
)

// dropSource has accesses in two lists of statements, one of which stands in the other.
const dropSource = `package p

type block struct{ index *int }

func (b *block) drop() {
	if b.index != nil {
		work()
		*b.index--
		b.index = nil
	}
	work()
	b.index = new(int)
}

func work() {}
`

// dropLines are the lines of dropSource that access b.index.
var dropLines = []int{6, 8, 9, 12}

// TestSequences: whichever sequences of accesses are to be atomic, and in whichever order they are found, the lock is held
// at each access, from the first access of a sequence to its last one, and is never taken twice.
func TestSequences(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a patch for each pair of sequences")
	}
	type sequence [2]int
	var all []sequence
	inner := dropLines[:3]
	for i, first := range inner {
		for _, last := range inner[i:] {
			all = append(all, sequence{first, last})
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "p.go")
	try := func(sequences ...sequence) {
		t.Helper()
		for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.25\n", "p.go": dropSource} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var findings []report.Finding
		for i, s := range sequences {
			access := func(thread heisen.Thread, line int) report.Access {
				frame := report.Frame{Func: "p.(*block).drop", File: file, Line: line}
				return report.Access{Op: "write", Variable: "b.index", Thread: thread, Stack: []report.Frame{frame}}
			}
			findings = append(findings, report.Finding{Kind: heisen.Atomicity, Fingerprint: fmt.Sprintf("%016x", i),
				Accesses: []report.Access{access(1, s[0]), access(2, 12), access(1, s[1])}})
		}
		result, err := patch.Make(context.Background(), dir, nil, findings)
		if err != nil {
			t.Fatal(err)
		}
		var diff strings.Builder
		if err := result.WriteDiff(&diff); err != nil {
			t.Fatal(err)
		}
		if len(result.Refused) > 0 || len(result.Repaired) != 1 {
			t.Fatalf("sequences %v: repaired %q, refused %v", sequences, result.Repaired, result.Refused)
		}
		git := exec.Command("git", "apply")
		git.Dir, git.Stdin = dir, strings.NewReader(diff.String())
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s", err, out)
		}
		sections := sectionsOf(t, file)
		if len(sections) != len(dropLines) {
			t.Fatalf("sequences %v: %d accesses in\n%s", sequences, len(sections), diff.String())
		}
		section := map[int]int{}
		for i, n := range sections {
			if n == 0 {
				t.Errorf("sequences %v: no lock is held at the access of line %d:\n%s", sequences, dropLines[i], diff.String())
			}
			section[dropLines[i]] = n
		}
		for _, s := range sequences {
			if section[s[0]] != section[s[1]] {
				t.Errorf("sequences %v: lines %d and %d are in two critical sections:\n%s", sequences, s[0], s[1], diff.String())
			}
		}
	}
	for _, a := range all {
		try(a)
		for _, b := range all {
			if a != b {
				try(a, b)
			}
		}
	}
}

// sectionsOf returns the number of the critical section in which each access of b.index in a file stands, in the order of the
// source: 0 for one without a lock.
func sectionsOf(t *testing.T, file string) (out []int) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	held, sections := 0, 0
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			held = 0
		case *ast.DeferStmt:
			return false // it is held to the end
		case *ast.SelectorExpr:
			switch n.Sel.Name {
			case "Lock":
				if held != 0 {
					t.Errorf("%s: the lock is taken twice", fset.Position(n.Pos()))
				}
				sections++
				held = sections
			case "Unlock":
				if held == 0 {
					t.Errorf("%s: the lock is not held", fset.Position(n.Pos()))
				}
				held = 0
			case "index":
				out = append(out, held)
			}
		}
		return true
	})
	return out
}
