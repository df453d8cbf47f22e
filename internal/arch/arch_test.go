package arch

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImports checks the imports of all packages of the module.
func TestImports(t *testing.T) {
	touchTree(t)
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
	found := map[string]bool{}
	for _, p := range packages {
		found[p.ImportPath] = true
	}
	for _, name := range []string{module, module + "/internal/arch"} {
		if !found[name] {
			t.Errorf("go list did not find %s among %d packages", name, len(packages))
		}
	}
	for _, problem := range check(packages) {
		t.Error(problem)
	}
}

// touchTree reads the module's directories, because go test repeats a cached result unless a file or
// directory that the test itself opened has changed.
func touchTree(t *testing.T) {
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" && d.IsDir() {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheck checks the checker: each import is allowed, or refused for the given reason.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		from, to string // paths in the module begin with ./
		want     string // part of the problem, or empty
	}{
		{".", "fmt", ""},
		{".", "golang.org/x/tools/go/ssa", "standard library only"},
		{".", "log", "prints nothing"},
		{".", "os/exec", "starts no processes"},
		{".", "./vclock", `uses [] only`},
		{".", "./internal/shadow", `uses [] only`},

		{"./internal/shadow", ".", ""},
		{"./internal/shadow", "unsafe", ""},
		{"./internal/shadow", "github.com/google/btree", "standard library only"},
		{"./internal/shadow", "./trace", `uses ["."] only`},

		{"./vclock", ".", ""},
		{"./vclock", "./internal/shadow", ""},
		{"./vclock", "github.com/google/btree", ""},
		{"./vclock", "log/slog", ""},
		{"./vclock", "log", "prints nothing"},
		{"./vclock", "./trace", "on floor 1, step 0 does not import step 0"},
		{"./vclock", "./lockset", "on floor 1, step 0 does not import step 1"},
		{"./lockset", "./vclock", ""},
		{"./lockset", "./trace", `uses ["." "internal/intake" "internal/locksets" "internal/option" "internal/shadow" "vclock"] only`},
		{"./trace", "./mcm", "floor 1 does not import floor 2"},
		{"./trace", "./report", "on floor 1"},
		{"./trace", "./bench/measure", "floor 1 does not import floor 6"},

		{"./mcm", "./vclock", ""},
		{"./mcm", "./racefuzz", "floor 2 does not import floor 3"},
		{"./racefuzz", "os/exec", "starts no processes"},

		{"./report", ".", ""},
		{"./report", "./trace", `uses ["." "internal/option" "internal/plural" "internal/printable" "internal/source" "internal/fold" "internal/filename"] only`},
		{"./internal/recorder", "./trace", ""},
		{"./internal/recorder", "./internal/build", "on floor 4, step 1 does not import step 2"},
		{"./internal/build", "./internal/recorder", ""},
		{"./internal/build", "os/exec", ""},
		{"./internal/build", "./internal/cli", "on floor 4"},
		{"./internal/cli", "./internal/build", ""},
		{"./internal/cli", "./report", ""},
		{"./internal/cli", "./driver", "on floor 4"},
		{"./driver", "./internal/cli", ""},
		{"./cmd/heisen", "./driver", ""},
		{"./driver", "./cmd/heisen", "floor 4 does not import floor 5"},
		{"./cmd/heisen", "./examples/bank", "floor 5 does not import floor 6"},

		{"./bench", "./bench/workload", ""},
		{"./bench/measure", "./internal/cli", ""},
		{"./bench/workload", "./bench/measure", `uses ["."] only`},
		{"./corpus", "./bench/workload", ""},
		{"./corpus", "./vclock", `uses ["." "bench/workload" "report"] only`},
		{"./examples/bank", "./bench", "on floor 6"},
		{"./examples/bank", "./driver", ""},

		{"./utils", "fmt", "./utils has no room: add it to the table"},
		{"./benchmark", "fmt", "./benchmark has no room"},
		{"./internal/recorder/inject", "runtime", "./internal/recorder/inject has no room"},
		{"./vclock/internal/epoch", "fmt", "has no room"},
		{"./mcm", "./utils", "that has no room: add it to the table"},
	} {
		problems := check([]pkg{{inModule(test.from), []string{inModule(test.to)}}})
		got := strings.Join(problems, "\n")
		if test.want == "" && got != "" || !strings.Contains(got, strings.TrimPrefix(test.want, "./")) {
			t.Errorf("%s imports %s: problem %q, want %q", test.from, test.to, got, test.want)
		}
	}
	if problems := check([]pkg{{"example.com/other", []string{"log"}}}); problems != nil {
		t.Errorf("a package of another module: %q", problems)
	}
}

func inModule(name string) string {
	if rest, ok := strings.CutPrefix(name, "."); ok {
		return module + rest
	}
	return name
}
