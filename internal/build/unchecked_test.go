package build

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnchecked: no function of the standard library that asks for its conversions of pointers not to be checked can be
// expanded in a package where they are.
func TestUnchecked(t *testing.T) {
	asks := regexp.MustCompile(`(?m)^//go:nocheckptr\n(?:(?://.*)?\n)*func (?:\(\w+ \*?(\w+)\) )?(\w+)`)
	cannot := map[string]bool{".forkAndExecInChild1": true} // too large
	never := regexp.MustCompile(`(?m)^//go:noinline\n(?://.*\n)*func (?:\(\w+ \*?(\w+)\) )?(\w+)`)
	o, err := newOverlay(installation(t))
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(installation(t).Root, "src")
	found := 0
	err = filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(src, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "runtime" || name == "cmd" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_")):
			return fs.SkipDir // the compiler never checks package runtime
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "windows"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		expanded := map[string]bool{}
		for _, match := range asks.FindAllSubmatch(text, -1) {
			expanded[string(match[1])+"."+string(match[2])] = true
		}
		found += len(expanded)
		for _, match := range never.FindAllSubmatch(o[filepath.ToSlash(name)], -1) {
			delete(expanded, string(match[1])+"."+string(match[2]))
		}
		for function := range expanded {
			if !cannot[function] {
				t.Errorf("%s: %s may be expanded", name, function)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 4 {
		t.Errorf("%d functions ask, want at least 4", found)
	}
}
