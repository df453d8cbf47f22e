package heisen_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadme checks that the README's program is the one that the examples run.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, found := strings.Cut(string(readme), "```go\n")
	program, _, closed := strings.Cut(program, "```")
	if !found || !closed {
		t.Fatal("no program in the README")
	}
	example, err := os.ReadFile("vclock/embed_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(string(example), "\n\t", "\n")
	if !strings.Contains(plain, program) {
		t.Errorf("the README's program is not that of vclock's example:\n%s", program)
	}
}
