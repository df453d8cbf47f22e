package driver_test

import (
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// TestRenewed has a module that needs a newer Go release than the one that has built the command: it has a generic
// method. The command builds itself again, once.
func TestRenewed(t *testing.T) {
	tier.Need(t, tier.Nightly)
	const newest, older = "go1.27.4", "go1.26.0"
	dir := t.TempDir()
	heisen := filepath.Join(dir, "heisen")
	build := exec.Command("go", "build", "-o", heisen, "github.com/heisen-go/heisen/cmd/heisen")
	if version.Compare(runtime.Version(), newest) >= 0 {
		build.Env = append(os.Environ(), "GOTOOLCHAIN="+older)
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/box\n\ngo 1.27\n",
		"box.go": `// Package box has a generic method.
package box

import "sync"

// Box holds values.
type Box struct {
	mu     sync.Mutex
	values []any
	puts   int
}

// Put adds a value.
func (b *Box) Put[T any](v T) {
	b.puts++
	b.mu.Lock()
	defer b.mu.Unlock()
	b.values = append(b.values, v)
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+newest, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "GOCACHE="+goCache(t))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		return string(out)
	}
	const building = "heisen: building this command with " + newest + ", which the module needs\n"
	if said := run(heisen, "infer", "./..."); !strings.HasPrefix(said, building) || !strings.Contains(said, "(*Box).Put[...]: atomic") {
		t.Errorf("the first time: %s", said)
	}
	if said := run(heisen, "infer", "./..."); strings.Contains(said, "building") || !strings.Contains(said, "(*Box).Put[...]: atomic") {
		t.Errorf("the second time: %s", said)
	}
	run("go", "vet", "-vettool="+heisen, "./...")
}

// goCache returns the build cache of the go command.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
