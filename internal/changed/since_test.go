package changed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// workTree is a git repository with a copy of testdata/module.
type workTree struct {
	t   *testing.T
	dir string
}

func newWorkTree(t *testing.T) *workTree {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w := &workTree{t, t.TempDir()}
	check(t, os.CopyFS(w.dir, os.DirFS("testdata/module")))
	w.git("init", "--quiet")
	w.commit()
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *workTree) git(args ...string) {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.dir, "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

func (w *workTree) commit() {
	w.t.Helper()
	w.git("add", "--all")
	w.git("commit", "--quiet", "--allow-empty", "-m", "m")
}

func (w *workTree) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, name)
	check(w.t, os.MkdirAll(filepath.Dir(file), 0o777))
	check(w.t, os.WriteFile(file, []byte(text), 0o666))
}

// replace replaces a text that occurs once in a file.
func (w *workTree) replace(name, old, text string) {
	w.t.Helper()
	now := string(must.Make(os.ReadFile(filepath.Join(w.dir, name))))
	if strings.Count(now, old) != 1 {
		w.t.Fatalf("%s has %q %d times", name, old, strings.Count(now, old))
	}
	w.write(name, strings.Replace(now, old, text, 1))
}

func (w *workTree) remove(name string) {
	w.t.Helper()
	check(w.t, os.Remove(filepath.Join(w.dir, name)))
}

// since returns the selected tests since the last commit as text: for each package its tests, or "all".
func (w *workTree) since() (selected string, tests *Tests) {
	w.t.Helper()
	tests, err := Since(w.t.Context(), "HEAD", ssaload.Source{Dir: w.dir, Packages: []string{"./..."}})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, name := range tests.Names() {
		s := tests.Packages[name]
		names := "all"
		if !s.All {
			var list []string
			for test := range s.Names {
				list = append(list, test)
			}
			slices.Sort(list)
			names = strings.Join(list, " ")
		}
		out = append(out, strings.TrimPrefix(name, "example.com/m/")+": "+names)
	}
	return strings.Join(out, "; "), tests
}

// Each edit selects the tests that can reach it. TestHello of words always counts when something is compiled, because it
// runs the go command.
func TestSince(t *testing.T) {
	const (
		shapes, shapesTest, store, storeTest, words = "shapes/shapes.go", "shapes/shapes_test.go", "store/store.go", "store/store_test.go", "words/words.go"
		hello                                       = "; words: TestHello"
	)
	all := "shapes: all; store: all; words: all"
	every := tier.Pick(10, 5, 1)
	for i, test := range []struct {
		name string
		edit func(w *workTree)
		want string
	}{
		{"nothing", func(*workTree) {}, ""},
		{"comments and empty lines", func(w *workTree) {
			w.replace(shapes, "// Grow is", "// Grow, a method,\n\n// is")
			w.replace(shapes, "func twice(n int) int { return 2 * n }", "func twice(n int) int {\n\t// doubled\n\treturn 2 * n\n}")
		}, ""},
		{"a function that is passed on", func(w *workTree) { w.replace(shapes, "2 * n", "n + n") }, "shapes: FuzzTwice TestTwice" + hello},
		{"a method that is called by name only", func(w *workTree) { w.replace(shapes, "s.side++", "s.side += 1") }, "shapes: TestGrow" + hello},
		// Disc.Area is called through Shape; all who have a Disc may call it.
		{"a method that is called through an interface", func(w *workTree) { w.replace(shapes, "3 * d.side", "d.side * 3") }, "shapes: TestSum" + hello},
		// fmt has an interface with String, so whoever has a Square may call it.
		{"a method that another package calls", func(w *workTree) { w.replace(shapes, `"square "`, `"SQUARE "`) },
			"shapes: TestFormat TestGrow TestLargest TestSum" + hello},
		{"a field", func(w *workTree) { w.replace(shapes, "struct{ side int }", "struct{ side int; other int }") },
			"shapes: TestFormat TestGrow TestLargest TestSum" + hello},
		{"a method that hides a promoted one", func(w *workTree) {
			w.replace(shapes, "func (d Disc) Area", "func (d Disc) Grow() {}\n\nfunc (d Disc) Area")
		},
			"shapes: TestSum" + hello},
		// store calls High when it is initialized.
		{"a constant before others", func(w *workTree) { w.replace(shapes, "low = iota\n", "low = iota\n\tbetween\n") }, "shapes: ExampleHigh TestByName; store: all" + hello},
		{"a table", func(w *workTree) { w.replace(shapes, `"high": High`, `"high": func() int { return high }`) }, "shapes: TestByName" + hello},
		{"a plain variable", func(w *workTree) { w.replace(store, `New("missing")`, `New("not there")`) }, "store: TestFind" + hello},
		{"a variable whose value is computed", func(w *workTree) { w.replace(store, "started = begin()", "started = begin() + 1") }, "store: all" + hello},
		{"what computes the value of a variable", func(w *workTree) { w.replace(store, "return shapes.High()", "return shapes.High() + 1") }, "store: all" + hello},
		{"an init function", func(w *workTree) { w.write("words/start.go", "package words\n\nfunc init() {}\n") }, "store: all; words: all"},
		{"an init function of tests", func(w *workTree) { w.write("words/start_test.go", "package words\n\nfunc init() {}\n") }, "words: all"},
		{"an init function of tests from outside", func(w *workTree) { w.write("shapes/start_test.go", "package shapes_test\n\nfunc init() {}\n") }, "shapes: all" + hello},
		{"a method of another name of a type, called through error", func(w *workTree) { w.replace(store, "return f.text", "return f.text + f.text") }, "store: TestFail" + hello},
		{"a promoted method of a generic type", func(w *workTree) { w.replace(words, "append(s.all, x)", "append(s.all, x, x)") }, "store: TestEmbedded" + hello},
		{"another package", func(w *workTree) { w.replace(words, "strings.Fields(text)", "strings.Split(text, \" \")") }, "store: TestNames; words: TestHello TestSplit"},
		{"a function of nobody", func(w *workTree) { w.replace(words, `all, " "`, `all, "  "`) }, "words: TestHello"},
		{"a test", func(w *workTree) { w.replace(storeTest, "!= 2", "!= 3") }, "store: TestNames" + hello},
		{"a new test", func(w *workTree) {
			w.write("store/new_test.go", "package store\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {}\n")
		}, "store: TestNew" + hello},
		{"TestMain", func(w *workTree) {
			w.write("shapes/main_test.go", "package shapes\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) { m.Run() }\n")
		}, "shapes: all" + hello},
		{"a command that a test runs", func(w *workTree) { w.replace("hello/main.go", "hello\")", "hello,\")") }, "words: TestHello"},
		{"a function that moves to another file", func(w *workTree) {
			w.replace(shapes, "func twice(n int) int { return 2 * n }\n", "")
			w.write("shapes/twice.go", "package shapes\n\nfunc twice(n int) int { return 2 * n }\n")
		}, ""},
		{"a deleted file", func(w *workTree) {
			w.replace(words, "func Join(all []string) string { return strings.Join(all, \" \") }", "")
			w.remove("hello/main.go")
		}, "words: TestHello"},
		{"an import by another package of the same name", func(w *workTree) {
			w.write("other/words/words.go", "// Package words splits otherwise.\npackage words\n\nfunc Split(text string) []string { return []string{text, text} }\n")
			w.replace(store, "example.com/m/words", "example.com/m/other/words")
		}, "store: all" + hello}, // other initializers run
		{"an import for its effects", func(w *workTree) { w.replace(words, `import "strings"`, "import (\n\t_ \"embed\"\n\t\"strings\"\n)") }, "store: all; words: all"},
		{"what is embedded", func(w *workTree) { w.write("store/data/names", "three four") }, "store: all" + hello},
		{"the pattern of what is embedded", func(w *workTree) { w.replace(store, "data/names\n", "notes.txt\n") }, "store: TestNames" + hello},
		{"a file that tests may read", func(w *workTree) { w.write("store/notes.txt", "other notes") }, "store: all"},
		{"a file in testdata", func(w *workTree) { w.write("store/testdata/deep/new.json", "{}") }, "store: all"},
		{"a file of no package", func(w *workTree) { w.write("scripts/run.sh", "true") }, ""},
		{"a hidden file", func(w *workTree) { w.write("store/.editorconfig", "root = true") }, ""},
		{"go.mod", func(w *workTree) { w.replace("go.mod", "go 1.26", "go 1.26.0") }, all},
		{"go.mod of another module", func(w *workTree) { w.write("tools/go.mod", "module example.com/tools\n") }, ""},
		{"a work space", func(w *workTree) { w.write("go.work", "go 1.26\n\nuse .\n") }, all},
		{"assembly", func(w *workTree) { w.write("shapes/other.s", "// nothing\n") }, "shapes: all; store: all" + hello},
		{"a build constraint", func(w *workTree) {
			w.replace("words/words_test.go", "package words", "//go:build !never\n\npackage words")
		}, "store: all; words: all"},
		{"a file that is not built", func(w *workTree) { w.write("shapes/x_plan9.go", "package shapes\n\nfunc init() {}\n") }, "words: TestHello"},
		{"a directive of a function", func(w *workTree) { w.replace(shapes, "func twice", "//go:noinline\nfunc twice") }, "shapes: FuzzTwice TestTwice" + hello},
		{"the name of something predeclared", func(w *workTree) {
			w.replace(words, "// Join is", "func len(s []string) int { return cap(s) }\n\n// Join is")
		},
			"words: TestHello TestSplit"},
		{"reflection", func(w *workTree) {
			w.write("words/call.go", "package words\n\nimport \"reflect\"\n\nfunc Call(x any, name string) { reflect.ValueOf(x).MethodByName(name).Call(nil) }\n")
			w.replace(shapes, "s.side++", "s.side += 1") // exported: whoever has a Square may call it
		}, "shapes: TestFormat TestGrow TestLargest TestSum" + hello},
		{"a file that git ignores", func(w *workTree) {
			w.write(".gitignore", "made.go\n")
			w.write("words/made.go", "package words\n\nconst Made = 1\n")
		}, "store: all; words: all"},
	} {
		if i%every != every/2 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkTree(t)
			test.edit(w)
			selected, tests := w.since()
			if selected != test.want {
				t.Errorf("selected %q, not %q; causes %v", selected, test.want, tests.Causes)
			}
			w.commit()
			if selected, _ := w.since(); selected != "" && !strings.Contains(test.name, "ignores") {
				t.Errorf("without a change, selected %q", selected)
			}
		})
	}
}

// Changes that concern all tests of a binary are named.
func TestCauses(t *testing.T) {
	w := newWorkTree(t)
	w.write("store/data/names", "three four")
	w.write("store/notes.txt", "other notes")
	w.replace("go.mod", "go 1.26", "go 1.26.0")
	_, tests := w.since()
	want := []Cause{
		{"go.mod", "changed, which concerns all packages"},
		{"store/data/names", "changed and is embedded"},
		{"store/data/names", "changed, and tests of store may read it"},
	}
	if !slices.Equal(tests.Causes, want) {
		t.Errorf("causes %q, not %q", tests.Causes, want)
	}
	if selected, of := tests.Count(); selected != 16 || of != 16 || tests.Of != 3 {
		t.Errorf("%d of %d tests in %d packages", selected, of, tests.Of)
	}
}

func TestRevisions(t *testing.T) {
	w := newWorkTree(t)
	for _, revision := range []string{"nowhere", "--output=x", "HEAD~5", ""} {
		_, err := Since(t.Context(), revision, ssaload.Source{Dir: w.dir, Packages: []string{"./..."}})
		if !errors.Is(err, ErrRevision) || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%q: error %v", revision, err)
		}
	}
	outside := t.TempDir()
	check(t, os.CopyFS(outside, os.DirFS("testdata/module")))
	if _, err := Since(t.Context(), "HEAD", ssaload.Source{Dir: outside, Packages: []string{"./..."}}); !errors.Is(err, ErrRevision) {
		t.Errorf("without a repository: error %v", err)
	}
	w.replace("words/words.go", "return strings.Fields(text)", "return")
	if _, err := Since(t.Context(), "HEAD", ssaload.Source{Dir: w.dir, Packages: []string{"./..."}}); !errors.Is(err, ssaload.ErrPackages) {
		t.Errorf("a package that does not compile: error %v", err)
	}
}
