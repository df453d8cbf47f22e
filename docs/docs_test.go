// Package docs_test checks the documents of this module: that their commands run, that their Go
// code is compiled, and that the files that they name exist.
package docs_test

import (
	"errors"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// root is the folder of the module.
const root = ".."

// documents returns the paths of all documents, relative to root.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if path.Ext(file) == ".md" {
			rel, err := filepath.Rel(root, file)
			all = append(all, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"README.md", "CONTRIBUTING.md", "docs/glossary.md"} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not among the documents %v", want, all)
		}
	}
	return all
}

// read returns the text of a file below root.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A block is a fenced block of a document.
type block struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

func blocks(text string) []block {
	var all []block
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		all = append(all, block{m[1], m[2]})
	}
	return all
}

// TestCode: each Go block is part of a Go file of the module, so it is compiled.
func TestCode(t *testing.T) {
	var sources strings.Builder
	for _, file := range []string{"readme_test.go", "docs/code_test.go", "examples/handoff/main.go",
		"docs/testdata/tutorial/quotes.go", "docs/testdata/tutorial/quotes_test.go"} {
		sources.WriteString(read(t, file) + "\n") // as if there were an empty line at the end
	}
	for _, document := range documents(t) {
		for _, b := range blocks(read(t, document)) {
			if b.language == "go" && !strings.Contains(sources.String(), "\n"+b.text+"\n") {
				t.Errorf("%s: no Go file has this code:\n%s", document, b.text)
			}
		}
	}
}

var (
	quote = regexp.MustCompile("`([^`\n]+)`")
	name  = regexp.MustCompile(`^[\w./-]+$`)
)

// TestPaths: each name in backquotes that looks like a path of the module leads to a file or folder.
// The name of a Go file may lack its folder.
func TestPaths(t *testing.T) {
	exists := func(elements ...string) bool {
		_, err := os.Stat(filepath.Join(append([]string{root}, elements...)...))
		return err == nil
	}
	goFiles := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		goFiles[filepath.Base(file)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents(t) {
		text := fence.ReplaceAllString(read(t, document), "")
		for _, m := range quote.FindAllStringSubmatch(text, -1) {
			quoted := strings.TrimSuffix(strings.TrimPrefix(m[1], "./"), "/...")
			first, rest, nested := strings.Cut(quoted, "/")
			isPath := nested && rest != "" && name.MatchString(quoted) && first != "" && exists(first)
			isGoFile := !nested && path.Ext(quoted) == ".go" && name.MatchString(quoted)
			if isPath && !exists(quoted) && !exists(path.Dir(document), quoted) || isGoFile && !goFiles[quoted] {
				t.Errorf("%s: there is no %s", document, m[1])
			}
		}
	}
}

// A command is a line of an sh block. A comment after it may say its exit status, or that it takes
// long.
type command struct {
	line   string
	status int
	long   bool
}

var statusComment = regexp.MustCompile(`exit status (\d+)`)

func commandOf(line string) command {
	line, comment, _ := strings.Cut(line, " #")
	c := command{line: strings.TrimSpace(line), long: strings.HasPrefix(strings.TrimSpace(comment), "takes ")}
	if m := statusComment.FindStringSubmatch(comment); m != nil {
		c.status, _ = strconv.Atoi(m[1])
	}
	return c
}

// TestCommands runs the commands of the documents, in order.
//
// The heisen command is this test binary. It runs in a copy of the module, because it writes files.
// Commands that begin with go run in the module itself, so that they share its build cache.
// Commands that take long are not run. The test checks that they exist. After cd, the commands of
// the document run in that folder.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs many programs")
	}
	work := filepath.Join(t.TempDir(), "heisen")
	copyModule(t, work)
	bin := heisencmd.Install(t)
	for _, document := range documents(t) {
		t.Run(document, func(t *testing.T) {
			switch document {
			case "README.md":
			case "docs/tutorial.md", "docs/test-and-run.md", "docs/fuzz-and-replay.md", "docs/heal.md", "docs/ci.md":
				tier.Need(t, tier.CI)
			default:
				tier.Need(t, tier.Nightly)
			}
			output, dir := "", work
			for _, b := range blocks(read(t, document)) {
				switch {
				case b.language == "sh":
					output = ""
					for line := range strings.Lines(b.text) {
						c := commandOf(line)
						if to, ok := strings.CutPrefix(c.line, "cd "); ok {
							dir = filepath.Join(dir, to)
						} else if c.line != "" {
							output += c.run(t, work, dir, bin)
						}
					}
				case b.language == "console" && output != "":
					checkParts(t, b.text, normalize(work, output))
				case b.language == "text" && output != "",
					b.language == "diff" && strings.Contains(output, "\n--- a/"):
					checkOutput(t, b.text, normalize(work, output))
				}
			}
		})
	}
}

// run runs a command in a folder and returns its output. Work is the copy of the module, bin the
// folder of the heisen command.
func (c command) run(t *testing.T, work, dir, bin string) string {
	t.Helper()
	switch {
	case c.line == "go test ./...":
		return "" // this test is part of it
	case c.long && strings.HasPrefix(c.line, "go test "):
		c.checkBenchmarks(t)
		return ""
	case c.long && strings.HasPrefix(c.line, "go run "):
		c.line += " -h" // the flags before -h are checked
	case c.long:
		t.Errorf("%s takes long, and there is no check for it", c.line)
		return ""
	}
	cmd := exec.Command("sh", "-c", c.line)
	cmd.Dir = dir
	if dir == work && strings.HasPrefix(c.line, "go ") {
		cmd.Dir = root
	}
	cmd.Env = append(cmd.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status := cmd.ProcessState.ExitCode()
	if status == 1 && strings.HasPrefix(c.line, "go run ") && strings.HasSuffix(string(out), "\nexit status "+strconv.Itoa(c.status)+"\n") {
		status = c.status // go run itself exits with 1
	}
	if status != c.status {
		t.Errorf("%s: exit status %d, want %d\n%s", c.line, status, c.status, out)
	}
	return string(out)
}

var (
	benchFlag     = regexp.MustCompile(`-bench (\S+)`)
	benchmarkFunc = regexp.MustCompile(`(?m)^func (Benchmark\w+)\(`)
)

// checkBenchmarks checks that the package that a go test command names has the benchmarks that it
// names.
func (c command) checkBenchmarks(t *testing.T) {
	t.Helper()
	flag := benchFlag.FindStringSubmatch(c.line)
	if flag == nil {
		t.Fatalf("%s has no -bench", c.line)
	}
	words := strings.Fields(c.line)
	pkg := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, ".") })
	if pkg < 0 {
		t.Fatalf("%s has no package", c.line)
	}
	files, err := filepath.Glob(filepath.Join(root, words[pkg], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range benchmarkFunc.FindAllStringSubmatch(string(text), -1) {
			if ok, err := regexp.MatchString(flag[1], m[1]); err != nil || ok {
				return
			}
		}
	}
	t.Errorf("%s: there is no such benchmark", c.line)
}

// copyModule copies the module to a folder, without test data that no document uses.
func copyModule(t *testing.T, to string) {
	t.Helper()
	used := []string{"testdata", "trace/testdata", "docs/testdata", "examples/atomicity/testdata"}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "heisen-fuzz" || d.Name() == "testdata" && !slices.Contains(used, rel)):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	// outcome is a line of a report that says how often something came out of executions, and with which seed first.
	outcome   = regexp.MustCompile(`(?m)^ *\d+ (.*, seed) \d+$`)
	ofThem    = regexp.MustCompile(`\bin \d+ of them\b`) // of some executions
	address   = regexp.MustCompile(`\b0x[0-9a-f]+`)
	goroutine = regexp.MustCompile(`\b([Gg]oroutines?) \d+(?:(?:, \d+)* and \d+)?`)
	spaces    = regexp.MustCompile(`[ \t]+`)
)

// shownWith is the Go release whose outputs the documents show. With another one, a seed may give another execution.
const shownWith = "go1.26"

// normalize removes from an output what depends on the run and on the machine, and on the Go release if that is not the one of
// the documents.
func normalize(work, output string) string {
	output = strings.ReplaceAll(output, filepath.Dir(work), "/src")
	output = address.ReplaceAllString(output, "0x")
	output = goroutine.ReplaceAllString(output, "$1")
	output = spaces.ReplaceAllString(output, " ")
	if version.Lang(runtime.Version()) != shownWith {
		output = outcome.ReplaceAllString(output, "n $1 n")
		output = ofThem.ReplaceAllString(output, "in n of them")
	}
	return output
}

// itemNumber matches the number of an item in a list.
var itemNumber = regexp.MustCompile(`(?m)^ *\d+ `)

// checkParts checks that a command printed the parts of what a document shows, in any order. A line ... separates parts, and a list may
// have other items before those that are shown. The numbers of items and of executions may differ.
func checkParts(t *testing.T, shown, output string) {
	t.Helper()
	loose := func(text string) string {
		return regexp.MustCompile(`in \d+ of \d+ execution`).ReplaceAllString(itemNumber.ReplaceAllString(text, ""), "in some execution")
	}
	output = loose(output)
	for part := range strings.SplitSeq(loose(normalize("/src/heisen", shown)), "\n...\n") {
		heading, items, _ := strings.Cut(part, "\n")
		if !strings.Contains(output, "\n"+heading+"\n") || !strings.Contains(output, items) {
			t.Errorf("the document shows\n%s\nwhich is not in\n%s", part, output)
		}
	}
}

// checkOutput checks that a command printed what a document shows. A line ... stands for any lines.
func checkOutput(t *testing.T, shown, output string) {
	t.Helper()
	rest := "\n" + output
	var part []string
	check := func() {
		want := "\n" + strings.Join(part, "\n")
		i := strings.Index(rest, want)
		if i < 0 {
			t.Errorf("the document shows%s\nwhich is not in\n%s", want, output)
			return
		}
		rest = rest[i+len(want):]
		part = nil
	}
	for line := range strings.Lines(normalize("/src/heisen", shown)) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "..." {
			part = append(part, line)
		} else if part != nil {
			check()
		}
	}
	if part != nil {
		check()
	}
}
