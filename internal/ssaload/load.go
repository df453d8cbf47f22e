package ssaload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen/internal/racetag"
)

// Source selects the packages to analyze.
type Source struct {
	Dir      string   // folder in which the go command runs; empty: the working directory
	Packages []string // package patterns of the go command; none: the package in Dir
	Tags     []string // build tags besides race, which heisen sets where it compiles, unless racetag.Without is among them; nil: those of GOFLAGS
	Tests    bool     // include tests

	Overlay map[string][]byte // contents to read instead of those of files, by absolute name

	Fset *token.FileSet // of earlier packages, to which positions are added; nil: a new one
}

// ErrPackages is wrapped by errors about packages that do not exist or do not compile.
var ErrPackages = errors.New("packages cannot be analyzed")

// Loaded is the packages of a Source, type-checked.
type Loaded struct {
	Packages []*packages.Package // those without errors
	Fset     *token.FileSet
	Notes    []Note
	Err      error // about the others
}

// Note is a remark about the source that concerns the quality of a result.
type Note struct {
	File string
	Line int
	Text string
}

func (n Note) String() string { return fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Text) }

// LoadAll loads packages with their syntax. It loads their imports from export data, which the go
// command compiles if it is not in the build cache.
func (s Source) LoadAll(ctx context.Context) (*Loaded, error) {
	tags := s.tags(ctx)
	out := &Loaded{Fset: s.Fset}
	if out.Fset == nil {
		out.Fset = token.NewFileSet()
	}
	all, err := packages.Load(&packages.Config{
		Context: ctx,
		Dir:     s.Dir,
		Fset:    out.Fset,
		Overlay: s.Overlay,
		Tests:   s.Tests,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo |
			packages.NeedModule | packages.NeedForTest,
		BuildFlags: []string{"-tags=" + strings.Join(tags, ",")},
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
	seen := map[string]bool{}
	for _, pkg := range all {
		if pkg.ForTest == "" && variants[pkg.PkgPath] || strings.HasSuffix(pkg.ID, ".test") {
			continue
		}
		if wrong := errorTexts(pkg); len(wrong) > 0 {
			for _, text := range wrong {
				if !seen[text] {
					seen[text] = true
					failed = append(failed, fmt.Errorf("%w: %s", ErrPackages, text))
				}
			}
			continue
		}
		out.Packages = append(out.Packages, pkg)
		out.Notes = append(out.Notes, out.cgo(pkg)...)
	}
	if len(all) == 0 {
		failed = append(failed, fmt.Errorf("%w: no package matches %s", ErrPackages, strings.Join(s.Packages, " ")))
	}
	out.Err = errors.Join(failed...)
	return out, nil
}

// Listing returns the packages with the names of their files, and all that they import: no syntax, and no types. If tests are
// included, variants of packages with tests and the main packages of test binaries are among them.
func (s Source) Listing(ctx context.Context) ([]*packages.Package, error) {
	roots, err := packages.Load(&packages.Config{
		Context: ctx, Dir: s.Dir, Overlay: s.Overlay, Tests: s.Tests,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedEmbedFiles | packages.NeedEmbedPatterns |
			packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedForTest,
		BuildFlags: []string{"-tags=" + strings.Join(s.tags(ctx), ",")},
	}, s.Packages...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPackages, err)
	}
	return roots, nil
}

// Dependencies returns what packages import, and what that imports, and their tests if these are included. The standard
// library and the packages themselves are left out.
func (s Source) Dependencies(ctx context.Context) ([]string, error) {
	roots, err := s.Listing(ctx)
	if err != nil {
		return nil, err
	}
	imported := map[string]bool{}
	packages.Visit(roots, nil, func(pkg *packages.Package) {
		if pkg.Module != nil && pkg.ForTest == "" && !strings.HasSuffix(pkg.ID, ".test") {
			imported[pkg.PkgPath] = true
		}
	})
	for _, pkg := range roots {
		delete(imported, pkg.PkgPath)
	}
	return slices.Sorted(maps.Keys(imported)), nil
}

// tags returns the build tags by which files are chosen.
func (s Source) tags(ctx context.Context) []string {
	tags, without := racetag.Split(s.Tags)
	env := s.environment(ctx)
	if tags == nil {
		tags = tagsOf(env.GOFLAGS)
	}
	if !without && racetag.Compiles(env.GOOS, env.GOARCH) {
		tags = racetag.Add(tags)
	}
	return tags
}

// Load loads the packages with their syntax and types, and their imports from export data. Packages that
// cannot be analyzed are left out; the error then wraps ErrPackages, and the others are returned with it.
func (s Source) Load(ctx context.Context) ([]*packages.Package, error) {
	l, err := s.LoadAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", err)
	}
	return l.Packages, l.Err
}

// errorTexts returns the errors of a package, one line each with its position. Errors of the type
// checker take precedence over those of the compiler.
func errorTexts(pkg *packages.Package) (out []string) {
	var compiler []string
	for _, e := range pkg.Errors {
		header, details, _ := strings.Cut(strings.TrimSpace(e.Msg), "\n")
		switch {
		case strings.HasPrefix(header, "# "):
			compiler = append(compiler, strings.Split(details, "\n")...)
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
		out = []string{pkg.PkgPath + ": an import does not compile"}
	}
	return out
}

// goEnvironment is what the go command says of its environment.
type goEnvironment struct{ GOFLAGS, GOOS, GOARCH string }

// environment asks the go command. If it cannot be asked, loading will fail with the reason.
func (s Source) environment(ctx context.Context) (env goEnvironment) {
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOFLAGS", "GOOS", "GOARCH")
	cmd.Dir = s.Dir
	if out, err := cmd.Output(); err == nil {
		_ = json.Unmarshal(out, &env) // the go command writes JSON
	}
	return env
}

// tagsOf returns the build tags among flags. A -tags flag of the go command would replace them.
func tagsOf(flags string) (tags []string) {
	for _, flag := range strings.Fields(flags) {
		if value, ok := strings.CutPrefix(strings.TrimLeft(flag, "-"), "tags="); ok {
			tags = strings.Split(value, ",")
		}
	}
	return tags
}

// cgo returns notes on the files of a package that cgo has rewritten.
func (l *Loaded) cgo(pkg *packages.Package) (out []Note) {
	for _, file := range pkg.Syntax {
		actual := l.Fset.PositionFor(file.Package, false).Filename
		if slices.Contains(pkg.GoFiles, actual) {
			continue
		}
		at := l.Fset.Position(file.Package)
		if at.Filename != actual && IsSource(at.Filename) {
			out = append(out, Note{at.Filename, at.Line, "the file uses cgo: it is analyzed as cgo rewrites it"})
		}
	}
	return out
}

// IsSource reports whether a file is source that exists, rather than generated by cgo.
func IsSource(name string) bool {
	if filepath.Base(name) == "_cgo_gotypes.go" {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
