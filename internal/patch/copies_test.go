package patch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// loaded returns the package of a source.
func loaded(t *testing.T, source string) []*packages.Package {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.25\n", "p.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	all, err := packages.Load(&packages.Config{
		Dir: dir, Env: append(os.Environ(), "GOWORK=off"), Mode: packages.LoadSyntax | packages.NeedModule,
	}, ".")
	if err != nil || packages.PrintErrors(all) > 0 {
		t.Fatal(all, err)
	}
	return all
}

func TestCopies(t *testing.T) {
	const guarded = "package p\n\nimport \"sync\"\n\ntype guarded struct{ mu sync.Mutex }\n\n"
	for source, places := range map[string]int{
		guarded + "func lock(g *guarded) { g.mu.Lock() }\n":                                                 0,
		guarded + "func lock(g guarded) { g.mu.Lock() }\n\nfunc copied(g *guarded) guarded { return *g }\n": 2,
	} {
		found, err := copies(loaded(t, source))
		got := 0
		for _, n := range found {
			got += n
		}
		if got != places || err != nil {
			t.Errorf("%s\n%v, error %v; want %d places", source, found, err, places)
		}
	}
}

// TestDiagnoseFails: if an analyzer cannot say anything about a package, that is an error, and not a package without
// findings.
func TestDiagnoseFails(t *testing.T) {
	all := loaded(t, "package p\n")
	broken := errors.New("broken")
	fails := &analysis.Analyzer{Name: "fails", Doc: "fails", Run: func(*analysis.Pass) (any, error) { return nil, broken }}
	if _, err := diagnose(fails, all); !errors.Is(err, broken) || err.Error() != "analyzer fails: example.com/p: broken" {
		t.Errorf("error %v", err)
	}
	if _, err := diagnose(&analysis.Analyzer{Name: "not a name"}, all); err == nil {
		t.Error("an analyzer that is not valid finds nothing")
	}
}
