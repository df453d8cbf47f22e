package heisentest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
)

func TestPattern(t *testing.T) {
	for name, want := range map[string]string{
		"TestA":           "^TestA$",
		"TestA/b_c/d":     "^TestA$/^b_c$/^d$",
		"TestA/x=1.5|[y]": `^TestA$/^x=1\.5\|\[y\]$`,
		"TestA/#01":       "^TestA$/^#01$",
	} {
		if got := pattern(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestForTool(t *testing.T) {
	const text = "a heisen replay b\n\nReplay: %sheisen replay heisen-fuzz/01.schedule\nIn full: %[1]sheisen show 01\nheisen: searched\n"
	if got, want := forTool(fmt.Sprintf(text, "")), fmt.Sprintf(text, "go tool "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Within an execution by heisen, and without heisen, the function runs once.
func TestExploreRunsOnce(t *testing.T) {
	t.Setenv(inside, "1")
	ran := 0
	Explore(t, func(t *testing.T) { ran++ }, nil, WithTime(1))
	if ran != 1 {
		t.Errorf("the function ran %d times", ran)
	}
}

// module makes a module with the tests of testdata, which has heisen as a tool or not.
func module(t *testing.T, withTool bool) (dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	goMod := "module example.org/m\n\ngo 1.26\n\nrequire github.com/heisen-go/heisen v0.0.0\n\nreplace github.com/heisen-go/heisen => " + root + "\n"
	if withTool {
		goMod += "\ntool " + tool + "\n"
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("testdata", "explored.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": goMod, "go.sum": string(sums), "m_test.go": string(source)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goCommand runs the go command in a module, as a user does who knows nothing of this test.
func goCommand(t *testing.T, dir string, args ...string) (out string, err error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "HOME="+os.Getenv("HOME"))
	text, err := cmd.CombinedOutput()
	return string(text), err
}

const onlyOnce = "heisentest: the test ran under one schedule only: "

func TestExplore(t *testing.T) {
	tier.Need(t, tier.CI) // it builds heisen and instrumented tests
	dir := module(t, true)
	for _, c := range []struct {
		run   string
		fails []string // what the output has; nothing if the test passes
		lacks string
	}{
		{"TestFine", nil, onlyOnce},
		{"TestLostUpdate", []string{"--- FAIL: TestLostUpdate", "heisentest: heisen fuzz has found something:", "n is 1", "Replay: go tool heisen replay heisen-fuzz"}, onlyOnce},
		{"TestSub", []string{"--- FAIL: TestSub/racy_one", "--- PASS: TestSub/fine", "WARNING: DATA RACE"}, onlyOnce},
		{"TestParallel", []string{"--- FAIL: TestParallel/racy", "--- PASS: TestParallel/fine", "WARNING: DATA RACE"}, onlyOnce},
		{"TestLeaks", []string{"--- FAIL: TestLeaks", "WARNING: GOROUTINE LEAK"}, onlyOnce},
		{"TestDeadlock", []string{"--- FAIL: TestDeadlock", "WARNING: DEADLOCK"}, onlyOnce},
		{"TestFails", []string{"--- FAIL: TestFails", "by itself"}, "heisen"},
		{"TestSkips", nil, "heisen"},
	} {
		out, err := goCommand(t, dir, "test", "-v", "-run", "^"+c.run+"$")
		if (err != nil) != (c.fails != nil) {
			t.Errorf("%s: error %v\n%s", c.run, err, out)
			continue
		}
		for _, text := range c.fails {
			if !strings.Contains(out, text) {
				t.Errorf("%s: no %q in\n%s", c.run, text, out)
			}
		}
		if strings.Contains(out, c.lacks) {
			t.Errorf("%s: %q in\n%s", c.run, c.lacks, out)
		}
	}

	// The command of the report repeats the failure.
	out, err := goCommand(t, dir, "test", "-run", "^TestLostUpdate$")
	command := regexp.MustCompile(`Replay: go (tool heisen replay \S+)`).FindStringSubmatch(out)
	if err == nil || command == nil {
		t.Fatalf("error %v, no command in\n%s", err, out)
	}
	if out, err := goCommand(t, dir, strings.Fields(command[1])...); err == nil || !strings.Contains(out, "n is 1") {
		t.Errorf("%s: error %v\n%s", command[1], err, out)
	}

	// In executions by heisen, the tests explore nothing themselves.
	for _, args := range [][]string{{"tool", "heisen", "test", "-v", "-run", "^TestFine$"}, {"tool", "heisen", "fuzz", "-time", "1s", "-run", "^TestFine$", "."}} {
		if out, err := goCommand(t, dir, args...); err != nil || strings.Contains(out, onlyOnce) {
			t.Errorf("%q: error %v\n%s", args, err, out)
		}
	}

	// Little time, and -short.
	for flag, why := range map[string]string{"-short": "-short", "-timeout=8s": "too little is left"} {
		out, err := goCommand(t, dir, "test", "-v", flag, "-run", "^TestLostUpdate$")
		if err != nil || !strings.Contains(out, onlyOnce+why) {
			t.Errorf("%s: error %v, not %q in\n%s", flag, err, why, out)
		}
	}
}

func TestExploreWithoutTool(t *testing.T) {
	tier.Need(t, tier.CI)
	out, err := goCommand(t, module(t, false), "test", "-v", "-run", "^(TestFine|TestRace)$")
	if err != nil || strings.Count(out, onlyOnce+"heisen is not a tool of this module (go get -tool "+tool+")") != 2 {
		t.Errorf("error %v\n%s", err, out)
	}
}

// Besides the standard library, the package links only what reads profiles into the tests of users.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil || strings.Join(strings.Fields(string(out)), " ") != "github.com/heisen-go/heisen/internal/goroutines github.com/heisen-go/heisen/heisentest" {
		t.Errorf("error %v, imports\n%s", err, out)
	}
}
