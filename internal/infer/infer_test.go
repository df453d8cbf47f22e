package infer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/section"
)

// write writes a module and returns its folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOPROXY", "off")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func relative(t *testing.T, dir, file string) string {
	t.Helper()
	rel, err := filepath.Rel(dir, file)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(rel)
}

// text returns sections as a sections file has them, without the header.
func text(t *testing.T, dir string, sections []section.Section) string {
	t.Helper()
	for i := range sections {
		s := &sections[i]
		s.Entry.File = relative(t, dir, s.Entry.File)
		for j := range s.Ends {
			s.Ends[j].At.File = relative(t, dir, s.Ends[j].At.File)
		}
	}
	var out strings.Builder
	if err := section.Encode(&out, sections); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(out.String(), "\n")
	return strings.ReplaceAll(rest, "\t", "    ")
}

func inferred(t *testing.T, source infer.Source, opts ...infer.Option) *infer.Inferred {
	t.Helper()
	found, err := infer.Infer(context.Background(), source, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestMerge infers by several patterns. Sections with the same entry become one, and an end of a
// later pattern does not hide one of an earlier pattern.
func TestMerge(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n",
		"m.go": `package m

type T struct {
	n int
	m map[string]int
}

func use(int) {}

func (t *T) merge() {
	v := t.n
	if v > 3 {
		use(t.n)
		t.n = v - 1
	} else if v > 2 {
		use(t.n)
	}
}

func (t *T) both(k string) {
	if _, ok := t.m[k]; !ok {
		t.m[k] = 1
	}
}

func (t *T) reset() { t.m = map[string]int{} }
`})
	const want = `
section m.go:11 read
    variable t.n
    pattern load-and-store
    end m.go:14 write {read}
    end m.go:16 read {read}

section m.go:13 read
    variable t.n
    pattern consecutive
    end m.go:14 write {read}

section m.go:21 read
    variable t.m
    pattern test-and-use
    end m.go:22 read {read}
    end m.go:22 write {read}
`
	found := inferred(t, infer.Source{Dir: dir}, infer.WithPatterns(infer.PatternNames()...))
	if diff := cmp.Diff(want, text(t, dir, found.Sections)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAbove infers sections that end in a caller, one and two calls above.
func TestAbove(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n",
		"m.go": `package m

type T struct{ n, m int }

func (t *T) get() int  { return t.n }
func (t *T) getter() int { return t.get() }
func (t *T) set(n int) { t.n = n }

func (t *T) next() {
	if t.getter() > 3 {
		t.set(3)
	}
}

func (t *T) twice() {
	t.m = 1
	t.m = 2
}
`})
	const want = `
section m.go:5 read
    variable t.n
    pattern consecutive
    above 2
    end m.go:7 write {read}

section m.go:16 write
    variable t.m
    pattern consecutive
    end m.go:17 write {write}
`
	found := inferred(t, infer.Source{Dir: dir}, infer.WithPatterns("consecutive"))
	if diff := cmp.Diff(want, text(t, dir, found.Sections)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCircular infers a section of accesses in one line.
func TestCircular(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n",
		"m.go": `package m

type T struct{ next *T; n int }

func (t *T) clear() { t.next = nil }

func (t *T) f() int {
	if t.next != nil { return t.next.n }
	return 0
}
`})
	const want = `
section m.go:8 read
    variable t.next
    pattern test-and-use
    circular
    end m.go:8 read {read}
`
	found := inferred(t, infer.Source{Dir: dir})
	if diff := cmp.Diff(want, text(t, dir, found.Sections)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnite infers sections of variables of which one has a name that is a pattern for the other
// names. They become one section.
func TestUnite(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n",
		"m.go": `package m

type T struct{ p *int }

func (t *T) set(p *int) { t.p = p }

func F(t *T) {
	v := *t.p
	t.p = new(int)
	*t.p = v + 1
	if *t.p > 3 {
		*t.p = 3
	}
}
`})
	const want = `
section m.go:11 read
    variable *t.p
    pattern test-and-use
    end m.go:12 read {read}
    end m.go:12 write {read}
`
	found := inferred(t, infer.Source{Dir: dir})
	if diff := cmp.Diff(want, text(t, dir, found.Sections)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSources infers from special source: tests, build tags, generated files with line directives,
// vendored packages, and packages that do not compile.
func TestSources(t *testing.T) {
	const increment = "\n\nvar N%s int\n\nfunc Add%[1]s() { N%[1]s++ }\n"
	file := func(head, name string) string { return head + fmt.Sprintf(increment, name) }
	dir := write(t, map[string]string{
		"go.mod":                        "module example.com/m\n\ngo 1.25\n\nrequire example.com/dep v1.0.0\n",
		"vendor/modules.txt":            "# example.com/dep v1.0.0\n## explicit; go 1.25\nexample.com/dep\n",
		"vendor/example.com/dep/dep.go": file("package dep", "V"),
		"m.go":                          file("package m\n\nimport _ \"example.com/dep\"", "M"),
		"in_test.go":                    file("package m", "I"),
		"ex_test.go":                    file("package m_test", "X"),
		"tag.go":                        file("//go:build special\n\npackage m", "T"),
		"race.go":                       file("//go:build race\n\npackage m", "R"),
		"norace.go":                     file("//go:build !race\n\npackage m", "R"),
		"gen.go":                        file("// Code generated by hand. DO NOT EDIT.\n\n//line gen.y:10\npackage m", "G"),
		"gen.y":                         "the source of gen.go",
		"bad/bad.go":                    "package bad\n\nvar x int = \"no\"\n",
		"uses/uses.go":                  file("package uses\n\nimport _ \"example.com/m/bad\"", "U"),
	})
	for _, test := range []struct {
		name   string
		source infer.Source
		want   string
		fails  string
	}{
		{"package", infer.Source{}, "gen.y:14 m.go:7 race.go:7", ""},
		{"tests", infer.Source{Tests: true}, "ex_test.go:5 gen.y:14 in_test.go:5 m.go:7 race.go:7", ""},
		{"tags", infer.Source{Tags: []string{"special"}}, "gen.y:14 m.go:7 race.go:7 tag.go:7", ""},
		{"vendored", infer.Source{Packages: []string{"example.com/dep"}}, "vendor/example.com/dep/dep.go:5", ""},
		{"files", infer.Source{Packages: []string{"m.go"}}, "m.go:7", ""},
		{"bad", infer.Source{Packages: []string{".", "./bad"}}, "gen.y:14 m.go:7 race.go:7", "bad.go:3:13: cannot use"},
		{"none", infer.Source{Packages: []string{"./nowhere"}}, "", "nowhere"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.source.Dir = dir
			found, err := infer.Infer(context.Background(), test.source)
			if test.fails == "" && err != nil || test.fails != "" && (!errors.Is(err, infer.ErrPackages) || !strings.Contains(err.Error(), test.fails)) {
				t.Errorf("error %v, want %q", err, test.fails)
			}
			var got []string
			for _, s := range found.Sections {
				got = append(got, fmt.Sprintf("%s:%d", relative(t, dir, s.Entry.File), s.Entry.Line))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWorkspace infers in two modules of a workspace, one of which uses the other.
func TestWorkspace(t *testing.T) {
	dir := write(t, map[string]string{
		"go.work":  "go 1.25\n\nuse (\n\t./a\n\t./b\n)\n",
		"a/go.mod": "module example.com/a\n\ngo 1.25\n\nrequire example.com/b v0.0.0\n",
		"a/a.go":   "package a\n\nimport \"example.com/b\"\n\nfunc Add() { b.N++ }\n",
		"b/go.mod": "module example.com/b\n\ngo 1.25\n",
		"b/b.go":   "package b\n\nvar N int\n\nfunc Sub() { N-- }\n",
	})
	t.Setenv("GOWORK", "")
	found := inferred(t, infer.Source{Dir: dir, Packages: []string{"./a/...", "./b/..."}})
	const want = `
section a/a.go:5 read
    variable b.N
    pattern load-and-store
    end a/a.go:5 write {read}

section b/b.go:5 read
    variable N
    pattern load-and-store
    end b/b.go:5 write {read}
`
	if diff := cmp.Diff(want, text(t, dir, found.Sections)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGOFLAGS(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n",
		"tag.go": "//go:build special\n\npackage m\n\nvar n int\n\nfunc add() { n++ }\n",
	})
	t.Setenv("GOFLAGS", "-tags=special")
	if found := inferred(t, infer.Source{Dir: dir}); len(found.Sections) != 1 {
		t.Errorf("%d sections with -tags in GOFLAGS, want 1", len(found.Sections))
	}
}

func TestOptions(t *testing.T) {
	for _, opt := range []infer.Option{infer.WithPatterns(), infer.WithPatterns("load-and-stare")} {
		if _, err := infer.Infer(context.Background(), infer.Source{}, opt); err == nil {
			t.Error("no error")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := infer.Infer(ctx, infer.Source{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestByHand compares the inferred sections of the examples with the hand-written ones. An inferred
// section has the same entry. It has the same end, unless a store of the value that the entry read
// comes after that.
func TestByHand(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	files, err := filepath.Glob("../../examples/atomicity/*/heisen.sections")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d sections files, error %v", len(files), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		byHand, err := section.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		found := inferred(t, infer.Source{Dir: filepath.Dir(file)}, infer.WithLocked(), infer.WithPatterns(infer.PatternNames()...))
		for _, want := range byHand {
			i := slices.IndexFunc(found.Sections, func(s section.Section) bool {
				return s.Entry.Line == want.Entry.Line && s.Variable == want.Variable
			})
			if i < 0 {
				t.Errorf("%s: no section of %s at %v", file, want.Variable, want.Entry)
				continue
			}
			got := found.Sections[i]
			for _, end := range want.Ends {
				if !slices.ContainsFunc(got.Ends, func(e section.End) bool {
					return e.At.Line == end.At.Line && e.At.Mode == end.At.Mode && e.Allow == end.Allow ||
						got.Pattern == "load-and-store" && e.At.Line > end.At.Line
				}) {
					t.Errorf("%s: section of %s at %v: ends %v, want %v", file, want.Variable, want.Entry, got.Ends, end)
				}
			}
			if got.Above != want.Above {
				t.Errorf("%s: section of %s at %v: above %d, want %d", file, want.Variable, want.Entry, got.Above, want.Above)
			}
		}
	}
}
