package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/build"
)

// TestTable: what is written is read again, and the rest of the document stays.
func TestTable(t *testing.T) {
	document := "before\n" + begins + "\nold\n" + ends + "\nafter\n"
	results := table{"linux/amd64/1.26/race": "3 of 4, none in 2 of 2", "linux/386/1.27/packages": "7 of 7"}
	text, err := results.replace(document, build.Releases)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text, "before\n"+begins+"\n") || !strings.HasSuffix(text, ends+"\nafter\n") || strings.Contains(text, "old") {
		t.Errorf("the document is now\n%s", text)
	}
	again, err := parse(text)
	if err != nil || len(again) != 2 {
		t.Fatal(again, err)
	}
	for name, cell := range results {
		if again[name] != cell {
			t.Errorf("%s is %q, want %q", name, again[name], cell)
		}
	}
	if twice, err := again.replace(text, build.Releases); err != nil || twice != text {
		t.Errorf("not the same again: %v\n%s", err, twice)
	}
	if _, err := parse("no table"); err == nil {
		t.Error("a document without a table is read")
	}
}

// TestVerdicts reads what the commands print.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		verdict      func(string) string
		output, want string
	}{
		{scores, "file  Race (GOMAXPROCS=1)  NoRace\nin scope  238/238  129/129  237/238  128/129  \n all 1/1 2/2\n", "237 of 238, none in 128 of 129"},
		{scores, "in scope  1/1  2/2  \n", "1 of 1, none in 2 of 2"},
		{scores, "goracetests: no test data\n", ""},
		{leaks, "Deadlock: 0 of 1 tries\n72 programs, 72 tries, all leaks found in 71; 80 of 81 leaks found at least once, 2 not expected; longest try 1.0 s\n", "71 of 72, 2 false"},
		{leaks, "goleaktests: open\n", ""},
		{selfTest, "go1.27.4: the self-test passes\n", "passes"},
		{selfTest, "checkgoroot: go1.27.4 fails the self-test \"races\": x\n", "fails"},
		{selfTest, "checkgoroot: exit\n", ""},
		{packages, "ok  \ta/b\t1.2s\n?   \ta/c\t[no test files]\nFAIL\nFAIL\ta/d\t0.1s\nFAIL\nFAIL\ta/e\t0.1s\nFAIL\n", "1 of 3"},
		{packages, "go: no such\n", ""},
	} {
		if got := c.verdict(c.output); got != c.want {
			t.Errorf("%q: %q, want %q", c.output, got, c.want)
		}
	}
}

// TestCommand lists the cells, runs one, and refuses what it does not know.
func TestCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits.md")
	if err := os.WriteFile(file, []byte(begins+"\n"+ends+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := command(t.Context(), &out, []string{"-toolchains", "local", "-file", file}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "linux/arm64/") || !strings.Contains(out.String(), "/leaks: "+none+"\n") {
		t.Errorf("cells\n%s", &out)
	}
	for _, args := range [][]string{{"-run", "("}, {"-file", file + "x"}, {"-toolchains", "go1.2.3.4"}, {"-x"}} {
		if err := command(t.Context(), &out, append([]string{"-file", file}, args...)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// TestDocument: the document has the table of all ports and releases, as the command writes it.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "design", "platforms.md"))
	if err != nil {
		t.Fatal(err)
	}
	results, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if same, err := results.replace(string(text), build.Releases); err != nil || same != string(text) {
		t.Errorf("the table is not that of the command (%v): run go run ./internal/testaid/verdicts -run name", err)
	}
}
