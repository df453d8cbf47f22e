package lock_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// TestExecutions has heisen fuzz try the executions of small programs. Its schedules switch goroutines also
// between the atomic operations inside of the locks. It tries all executions of the smallest program.
func TestExecutions(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an instrumented program")
	}
	heisencmd.NeedInstrumentation(t)
	folder := t.TempDir()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	put("go.mod", "module example.com/small\n\ngo 1.25\n")
	put("small_test.go", read("testdata/small/small_test.go"))
	for _, name := range sources {
		if !strings.HasSuffix(name, "_test.go") {
			put("lock/"+name, read(name))
		}
	}
	t.Chdir(folder)
	for _, test := range []string{"TestExclusive", "TestUpdate", "TestGiveWay", "TestPause"} {
		most := "3s"
		if test == "TestExclusive" {
			most = "2m" // it ends when all were tried
		}
		r := heisencmd.Run(t, "fuzz", "-time", most, "-run", "^"+test+"$", ".")
		if r.Status != driver.Clean {
			t.Errorf("%s: exit status %d\n%s%s", test, r.Status, r.Out, r.Err)
		}
		if test == "TestExclusive" && !regexp.MustCompile(`all \d{3,} executions were tried`).MatchString(r.Err) {
			t.Errorf("not all executions were tried:\n%s", r.Err)
		}
	}
}
