package infer

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Source says which packages are looked at.
type Source struct {
	Dir      string   // where the go command runs; the working directory if empty
	Packages []string // as the go command takes them; the package in Dir if there are none
	Tags     []string // build tags besides race, with which heisen builds; those of GOFLAGS if nil
	Tests    bool     // their tests too
}

// ErrPackages is wrapped by errors about packages that do not exist or do not
// compile.
var ErrPackages = errors.New("packages cannot be analysed")

// loaded is what the go command and the type checker say of packages.
type loaded struct {
	packages []*packages.Package // those without errors
	fset     *token.FileSet
	notes    []Note
	err      error // about the others
}

// Note is something in the source that the reader of a result ought to know.
type Note struct {
	File string
	Line int
	Text string
}

func (n Note) String() string { return fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Text) }

// load loads packages with their syntax, and what they import from export data,
// which the go command compiles if it is not in its cache.
func (s Source) load(ctx context.Context) (*loaded, error) {
	tags := s.Tags
	if tags == nil {
		tags = s.tagsOfGOFLAGS(ctx)
	}
	out := &loaded{fset: token.NewFileSet()}
	all, err := packages.Load(&packages.Config{
		Context: ctx,
		Dir:     s.Dir,
		Fset:    out.fset,
		Tests:   s.Tests,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo |
			packages.NeedModule | packages.NeedForTest,
		BuildFlags: []string{"-tags=" + strings.Join(append([]string{"race"}, tags...), ",")},
	}, s.Packages...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPackages, err)
	}
	variants := map[string]bool{} // packages with their tests compiled in
	for _, pkg := range all {
		if pkg.ForTest == pkg.PkgPath {
			variants[pkg.PkgPath] = true
		}
	}
	var failed []error
	said := map[string]bool{}
	for _, pkg := range all {
		if pkg.ForTest == "" && variants[pkg.PkgPath] || strings.HasSuffix(pkg.ID, ".test") {
			continue
		}
		if wrong := errorTexts(pkg); len(wrong) > 0 {
			for _, text := range wrong {
				if !said[text] {
					said[text] = true
					failed = append(failed, fmt.Errorf("%w: %s", ErrPackages, text))
				}
			}
			continue
		}
		out.packages = append(out.packages, pkg)
		out.notes = append(out.notes, out.cgo(pkg)...)
	}
	if len(all) == 0 {
		failed = append(failed, fmt.Errorf("%w: no package matches %s", ErrPackages, strings.Join(s.Packages, " ")))
	}
	out.err = errors.Join(failed...)
	return out, nil
}

// errorTexts returns what is wrong with a package, each thing in a line with its
// place. What the type checker says is preferred to the compiler's words for it.
func errorTexts(pkg *packages.Package) (out []string) {
	var compiler []string
	for _, e := range pkg.Errors {
		header, said, _ := strings.Cut(strings.TrimSpace(e.Msg), "\n")
		switch {
		case strings.HasPrefix(header, "# "):
			compiler = append(compiler, strings.Split(said, "\n")...)
		case e.Pos == "" || e.Pos == "-":
			out = append(out, header)
		default:
			out = append(out, e.Pos+": "+header)
		}
	}
	if len(out) == 0 {
		out = compiler
	}
	if len(out) == 0 && pkg.IllTyped {
		out = []string{pkg.PkgPath + ": what it imports does not compile"}
	}
	return out
}

// tagsOfGOFLAGS returns the build tags that are set in the environment, which
// those given to the go command would take the place of.
func (s Source) tagsOfGOFLAGS(ctx context.Context) []string {
	cmd := exec.CommandContext(ctx, "go", "env", "GOFLAGS")
	cmd.Dir = s.Dir
	out, err := cmd.Output()
	if err != nil {
		return nil // loading will fail with the reason
	}
	var tags []string
	for _, flag := range strings.Fields(string(out)) {
		if value, ok := strings.CutPrefix(strings.TrimLeft(flag, "-"), "tags="); ok {
			tags = strings.Split(value, ",")
		}
	}
	return tags
}

// cgo returns notes on the files of a package that cgo has rewritten.
func (l *loaded) cgo(pkg *packages.Package) (out []Note) {
	for _, file := range pkg.Syntax {
		actual := l.fset.PositionFor(file.Package, false).Filename
		if slices.Contains(pkg.GoFiles, actual) {
			continue
		}
		at := l.fset.Position(file.Package)
		if at.Filename != actual && isSource(at.Filename) {
			out = append(out, Note{at.Filename, at.Line, "the file uses cgo: it is analysed as cgo rewrites it"})
		}
	}
	return out
}

// isSource reports whether a file is one that people can look at.
func isSource(name string) bool {
	if filepath.Base(name) == "_cgo_gotypes.go" {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
