package cli

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// helpFlags returns the flags in help texts of the installed go command, and whether they take
// values.
func helpFlags(t *testing.T, topics ...string) map[string]bool {
	t.Helper()
	line := regexp.MustCompile(`(?m)^\t-([\w-]+)( .*)?$`)
	flags := map[string]bool{}
	for _, topic := range topics {
		out, err := exec.Command("go", "help", topic).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllStringSubmatch(string(out), -1) {
			flags[m[1]] = m[2] != ""
		}
	}
	if len(flags) < 5 {
		t.Fatalf("%v has the flags %v only", topics, flags)
	}
	return flags
}

// TestGoFlags compares the tables of flags with the help and the sources of the installed go
// command, so that a flag of a new release is noticed.
func TestGoFlags(t *testing.T) {
	compare := func(what string, help, table map[string]bool, hidden ...string) {
		t.Helper()
		for name, value := range help {
			if has, known := table[name]; !known || has != value {
				t.Errorf("%s: flag -%s (with a value: %v) is in the help; in the table: %v, %v", what, name, value, known, has)
			}
		}
		for name := range table {
			_, in := help[name]
			if !in && !slices.Contains(hidden, name) {
				t.Errorf("%s: flag -%s is not in the help", what, name)
			}
		}
	}
	compare("build", helpFlags(t, "build"), goBuildFlags, "debug-actiongraph", "debug-runtime-trace", "debug-trace")
	tests := maps.Clone(goTestFlags)
	maps.Copy(tests, goBinaryFlags)
	for _, name := range []string{"cover", "covermode", "coverpkg", "json"} { // described here, too
		tests[name] = goBuildFlags[name]
	}
	tests["args"] = false
	compare("test", helpFlags(t, "test", "testflag"), tests)

	out, err := exec.Command("go", "help", "run").Output()
	if err != nil || !strings.HasPrefix(string(out), "usage: go run [build flags] [-exec xprog] package [arguments...]\n") {
		t.Errorf("go help run: %v\n%s", err, out)
	}

	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src/cmd/go/internal/test/flagdefs.go"))
	if err != nil {
		t.Fatal(err)
	}
	passed := map[string]bool{}
	list, _, _ := strings.Cut(string(source), "var passAnalyzersToVet")
	for _, m := range regexp.MustCompile(`(?m)^\t"(\w+)": +true,$`).FindAllStringSubmatch(list, -1) {
		passed[m[1]] = true
		if _, known := goBinaryFlags[m[1]]; !known {
			t.Errorf("go test passes -%s to the test binary", m[1])
		}
	}
	for name := range goBinaryFlags {
		if !passed[name] {
			t.Errorf("go test does not pass -%s to the test binary", name)
		}
	}
}

// TestCollisions: no flag of a command that runs the go command has the name of one of go's, apart
// from those that stand before the verb or that belong to files that heisen writes.
func TestCollisions(t *testing.T) {
	allowed := map[string][]string{"record": {"o"}, "sdk": {"o"}, "sections": {"o", "v", "tags"}, "infer": {"tags"}}
	for _, c := range commands() {
		if slices.Contains([]string{"analyze", "trace", "view", "replay", "version"}, c.name) {
			continue
		}
		for _, f := range flagsOf(t, c) {
			_, _, test := goFlagNamed("test", f.Name)
			_, _, run := goFlagNamed("run", f.Name)
			if (test || run) && !slices.Contains(allowed[c.name], f.Name) {
				t.Errorf("heisen %s has a flag -%s, and so has the go command", c.name, f.Name)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	names := append(goFlagNames("test"), "detect", "predict", "pkgs", "filter", "report", "noise")
	for _, test := range []struct{ misspelt, want string }{
		{"detct", "detect"},
		{"dectet", "detect"}, // an exchange and a replacement
		{"prdict", "predict"},
		{"rnu", "run"},
		{"cuont", "count"},
		{"coverprofil", "coverprofile"},
		{"cpuprofil", "cpuprofile"},
		{"tag", "tags"},
		{"shuffel", "shuffle"},
		{"modfil", "modfile"},
		{"blockprofilrate", "blockprofilerate"},
		{"arg", "args"},
		// Names that tests have.
		{"update", ""}, {"files", ""}, {"port", ""}, {"q", ""}, {"db", ""}, {"golden", ""}, {"verbose", ""},
	} {
		if got := strings.Join(nearest(test.misspelt, names), " "); got != test.want {
			t.Errorf("-%s: %q, want %q", test.misspelt, got, test.want)
		}
	}
}

// TestEdits checks the distance against its recursive definition, for all short
// words of two letters.
func TestEdits(t *testing.T) {
	words := []string{""}
	for i := 0; len(words[i]) < 4; i++ {
		words = append(words, words[i]+"a", words[i]+"b")
	}
	for _, a := range words {
		for _, b := range words {
			want := slowEdits(a, b)
			if got := edits(a, b); got != want {
				t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
			}
		}
	}
}

// slowEdits is the recursive definition of the distance.
func slowEdits(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	replace := slowEdits(a[1:], b[1:])
	if a[0] != b[0] {
		replace++
	}
	best := min(replace, slowEdits(a[1:], b)+1, slowEdits(a, b[1:])+1)
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		best = min(best, slowEdits(a[2:], b[2:])+1)
	}
	return best
}
