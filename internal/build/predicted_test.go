package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestPredicted: no race is predicted for the variable apart of each test, under any schedule. For
// the variable meet, one is.
func TestPredicted(t *testing.T) {
	dir := t.TempDir()
	const source = "testdata/predicted"
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	exe := testBinary(t, dir)
	list, err := exec.Command(exe, "-test.list=.").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string][]string{} // of files
	line := func(file string, n int) string {
		name := filepath.Base(file)
		if lines[name] == nil {
			text, err := os.ReadFile(filepath.Join(source, name))
			if err != nil {
				t.Fatal(err)
			}
			lines[name] = strings.Split(string(text), "\n")
		}
		return lines[name][n-1]
	}
	variable := regexp.MustCompile(`\b(meet|apart)\b`)
	for _, name := range strings.Fields(string(list)) {
		t.Run(name, func(t *testing.T) {
			predicted := map[string]int{}
			for seed := range uint64(4) {
				rec := record(t, run{
					exe: exe, args: []string{"-test.run=^" + name + "$", "-test.timeout=0"},
					schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}},
				})
				if rec.err != nil || !rec.finished || rec.status != 0 {
					t.Errorf("seed %d: error %v, finished %v, status %d: %s", seed, rec.err, rec.finished, rec.status, rec.stdout+rec.stderr)
				}
				for _, f := range rec.predict(t) {
					text := rec.describe(f)
					of := ""
					for _, a := range f.Accesses {
						stack := rec.syms.Stack(a.Site, a.Context)
						if len(stack) > 0 {
							of += fmt.Sprint(variable.FindString(line(stack[0].File, stack[0].Line)), " ")
						}
					}
					switch of {
					case "meet meet ":
						predicted["meet"]++
					default:
						t.Errorf("seed %d: predicted of %s\n%s", seed, of, text)
					}
				}
			}
			if predicted["meet"] == 0 {
				t.Error("no race of meet is predicted")
			}
		})
	}
}
