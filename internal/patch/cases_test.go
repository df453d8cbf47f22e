package patch_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/report"
)

// A patchCase is a module of one package, with what becomes of the races in it. The first word of want is "repaired" or "refused",
// the rest stands in what the patch adds, or in the reason.
type patchCase struct {
	name, want string
	files      map[string]string
}

func casesIn(t *testing.T, pattern string) (out []patchCase) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "cases", pattern))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, name := range all {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := patchCase{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), files: map[string]string{}}
		for _, f := range archive.Files {
			if f.Name == "want" {
				c.want = strings.TrimSpace(string(f.Data))
			} else {
				c.files[f.Name] = string(f.Data)
			}
		}
		out = append(out, c)
	}
	return out
}

// marked returns a race for each pair of accesses to one variable. Comments of the form "// race: c.n" mark them, or "// race: c.n|c.m"
// if it may be either.
func marked(dir string, files map[string]string) (out []report.Finding) {
	byName := map[string][]report.Access{}
	var names []string
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for i, line := range strings.Split(files[file], "\n") {
			if _, expr, ok := strings.Cut(line, "// race: "); ok {
				field := expr[strings.LastIndexByte(expr, '.')+1:]
				if byName[field] == nil {
					names = append(names, field)
				}
				a := report.Access{Op: "write", Variable: expr, Stack: []report.Frame{{Func: "c.f", File: filepath.Join(dir, file), Line: i + 1}}}
				if names := strings.Split(expr, "|"); len(names) > 1 {
					a.Variable, a.Alternatives = "", names
				}
				byName[field] = append(byName[field], a)
			}
		}
	}
	for i, name := range names {
		at := byName[name]
		for j := range max(len(at)-1, 1) {
			out = append(out, report.Finding{
				Kind: heisen.Race, Fingerprint: strings.Repeat(string(rune('a'+i)), 8) + strings.Repeat(string(rune('0'+j)), 8),
				Accesses: []report.Access{at[j], at[(j+1)%len(at)]},
			})
		}
	}
	return out
}

// TestCases: the races of small programs are repaired or refused as they are to be. The patched programs pass go vet and their
// tests with Go's race detector; the tests count what was lost, and end if nothing hangs.
func TestCases(t *testing.T) {
	tier.Need(t, tier.Default)
	every := tier.Pick(6, 6, 3, 1)
	merged := t.TempDir()
	write(t, merged, map[string]string{"go.mod": "module example.com/cases\n\ngo 1.25\n"})
	repaired := 0
	for i, c := range casesIn(t, "*.txtar") {
		if i%every > 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if files := patchedCase(t, c); strings.HasPrefix(c.want, "repaired") {
				repaired++
				for name, text := range files {
					files[name] = strings.ReplaceAll(text, `"example.com/c`, `"example.com/cases/`+c.name)
				}
				write(t, filepath.Join(merged, c.name), files)
			}
		})
	}
	if repaired == 0 {
		t.Fatal("nothing is repaired")
	}
	t.Chdir(merged)
	if out := command(t, "", "gofmt", "-l", "."); out != "" {
		t.Errorf("not formatted: %s", out)
	}
	command(t, "", "go", "vet", "./...")
	race := []string{"test", "-race"}
	if cgo := command(t, "", "go", "env", "CGO_ENABLED"); strings.TrimSpace(cgo) != "1" {
		race = race[:1]
	}
	command(t, "", "go", append(race, "-timeout", "2m", "./...")...)
}

// patchedCase patches a case, and returns its files after that.
func patchedCase(t *testing.T, c patchCase) map[string]string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, c.files)
	write(t, dir, map[string]string{"go.mod": "module example.com/c\n\ngo 1.25\n"})
	command(t, "", "gofmt", "-w", dir)
	for name := range c.files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		c.files[name] = string(text)
	}
	result := madeFor(t, dir, c.files)
	var diff strings.Builder
	if err := result.WriteDiff(&diff); err != nil {
		t.Fatal(err)
	}
	how, what, _ := strings.Cut(c.want, " ")
	switch {
	case how == "refused":
		if len(result.Refused) == 0 || !strings.Contains(result.Refused[0].Reason, what) || result.Refused[0].Line == 0 {
			t.Errorf("refused %v, want %q\n%s", result.Refused, what, diff.String())
		}
	case len(result.Refused) > 0 || len(result.Repaired) == 0 || !strings.Contains(added(diff.String()), what):
		t.Errorf("repaired %q, refused %v, want %q\n%s", result.Repaired, result.Refused, what, diff.String())
	}
	if t.Failed() {
		t.FailNow()
	}
	files := maps.Clone(c.files)
	maps.Copy(files, result.Files())
	return files
}

// madeFor makes a patch for the races that files mark.
func madeFor(t *testing.T, dir string, files map[string]string) *patch.Result {
	t.Helper()
	result, err := patch.Make(context.Background(), dir, nil, marked(dir, files))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// write writes files into a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// added returns the lines that a diff adds.
func added(diff string) string {
	var out strings.Builder
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+") {
			out.WriteString(line)
		}
	}
	return out.String()
}
