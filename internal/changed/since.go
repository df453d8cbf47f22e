package changed

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// Tests are the tests, fuzz tests and examples that can reach what has changed since a revision.
type Tests struct {
	Commit   string               // hash of the revision
	Packages map[string]*Selected // by import path; those without a selected test are not in it
	Of       int                  // number of packages that have tests
	Causes   []Cause              // why all tests of packages are selected, ordered by file
}

// Selected are the selected tests of a package. They are all of its tests if All is set.
type Selected struct {
	All   bool
	Names map[string]bool
	Of    int // number of tests of the package
}

// Cause is a change that concerns all tests of the binaries that have something in them.
type Cause struct {
	File string // relative to the root of the repository, with slashes
	Text string
}

func (c Cause) String() string { return c.File + ": " + c.Text }

// Has reports whether a test of a package is selected. The empty name stands for all of them together.
func (t *Tests) Has(pkg, test string) bool {
	s := t.Packages[pkg]
	return s != nil && (s.All || test == "" || s.Names[test])
}

// Count returns how many tests are selected, and how many the packages with selected ones have.
func (t *Tests) Count() (selected, of int) {
	for _, s := range t.Packages {
		of += s.Of
		if s.All {
			selected += s.Of
		} else {
			selected += len(s.Names)
		}
	}
	return selected, of
}

// Since returns the tests of the packages of a source that can reach what has changed since a revision, which is any name of a commit
// that git knows. It runs git and the go command. Errors wrap ErrRevision or ssaload.ErrPackages where these tell what is wrong.
func Since(ctx context.Context, revision string, of ssaload.Source) (*Tests, error) {
	folder := of.Dir
	if folder == "" {
		folder = "."
	}
	repo, err := openRepository(ctx, folder, revision)
	if err != nil {
		return nil, err
	}
	files, err := repo.changed(ctx)
	if err != nil {
		return nil, err
	}
	of.Tests = true
	roots, err := of.Listing(ctx)
	if err != nil {
		return nil, err
	}
	s := &search{repository: repo, roots: roots, all: map[string]*packages.Package{}, folders: map[string][]*packages.Package{}, whole: map[string]bool{}, changed: map[node]bool{}}
	s.index()
	if err := s.readChanges(ctx, files); err != nil {
		return nil, err
	}
	if s.code || len(s.own) > 0 {
		if err := s.load(ctx, of); err != nil {
			return nil, err
		}
	}
	return s.tests(), nil
}

// search looks for the tests.
type search struct {
	*repository
	roots   []*packages.Package            // the packages, their variants with tests, and their test binaries
	all     map[string]*packages.Package   // what is in the test binaries, by ID
	folders map[string][]*packages.Package // of the repository, relative to its root; variants with tests too

	code       bool            // something changed that is compiled
	everything bool            // all tests of all packages
	whole      map[string]bool // import paths of packages whose users all count
	own        map[string]bool // folders all of whose tests count
	changed    map[node]bool
	causes     []Cause

	graph  *graph
	syntax map[string][]*packages.Package // of the repository, with types, by import path
}

// index finds out which packages there are.
func (s *search) index() {
	s.own = map[string]bool{}
	packages.Visit(s.roots, nil, func(pkg *packages.Package) {
		s.all[pkg.ID] = pkg
		if folder, ok := s.folder(pkg); ok && !isMain(pkg) {
			s.folders[folder] = append(s.folders[folder], pkg)
		}
	})
}

// isMain reports whether a package is the one that the go command makes for a test binary.
func isMain(pkg *packages.Package) bool { return strings.HasSuffix(pkg.ID, ".test") }

// folder returns the folder of a package relative to the root, and whether its source is in the repository and not of a vendored
// module.
func (s *search) folder(pkg *packages.Package) (string, bool) {
	if pkg.Module == nil || pkg.Dir == "" {
		return "", false
	}
	dir, err := filepath.EvalSymlinks(pkg.Dir)
	if err != nil {
		return "", false
	}
	folder, ok := s.rel(dir)
	return folder, ok && !isVendored(folder+"/")
}

func isVendored(name string) bool { return strings.Contains("/"+name, "/vendor/") }

func (s *search) inside(pkg *packages.Package) bool {
	_, ok := s.folder(pkg)
	return ok
}

func (s *search) cause(file, format string, args ...any) {
	s.causes = append(s.causes, Cause{file, fmt.Sprintf(format, args...)})
}

// allOf makes all users of the packages in a folder count.
func (s *search) allOf(folder, file, format string, args ...any) {
	for _, pkg := range s.folders[folder] {
		s.code, s.whole[pkg.PkgPath] = true, true
	}
	if len(s.folders[folder]) > 0 {
		s.cause(file, format, args...)
	}
}

// readChanges finds out what the changes of files mean.
func (s *search) readChanges(ctx context.Context, files []string) error {
	goFiles := map[string][]string{} // by folder
	for _, name := range files {
		folder, base := path.Split(name)
		folder = path.Clean(folder)
		switch {
		case isVendored(name) || isModuleFile(base) && s.hasModule(folder, base):
			s.code, s.everything = true, true
			s.cause(name, "changed, which concerns all packages")
		case s.isSubmodule(name):
			for below := range s.folders {
				if below == name || strings.HasPrefix(below, name+"/") {
					s.allOf(below, name, "another commit of a submodule")
				}
			}
		case path.Ext(base) == ".go" && len(s.folders[folder]) > 0:
			goFiles[folder] = append(goFiles[folder], name)
			continue
		case isModuleFile(base) || strings.HasPrefix(base, ".") || strings.Contains("/"+name, "/."):
			// of another module, or of tools
		default:
			s.other(name, folder)
		}
		s.code = s.code || path.Ext(base) == ".go" // of packages in no test binary, which tests may build
	}
	for folder, names := range goFiles {
		if err := s.readFolder(ctx, folder, names); err != nil {
			return err
		}
	}
	return s.readIgnored(ctx)
}

func isModuleFile(base string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, base)
}

// hasModule reports whether a folder is that of a module in the repository that has packages of the test binaries, or of a work space
// with such modules.
func (s *search) hasModule(folder, base string) bool {
	for _, packages := range s.folders {
		for _, pkg := range packages {
			dir, err := filepath.EvalSymlinks(pkg.Module.Dir)
			if err != nil {
				continue
			}
			module, ok := s.rel(dir)
			if ok && (module == folder || strings.HasPrefix(base, "go.work") && (folder == "." || strings.HasPrefix(module, folder+"/"))) {
				return true
			}
		}
	}
	return false
}

func (s *search) isSubmodule(name string) bool {
	info, err := os.Lstat(filepath.Join(s.root, filepath.FromSlash(name)))
	return err == nil && info.IsDir()
}

// other takes a change of a file that is not a Go file of a package.
func (s *search) other(name, folder string) {
	switch path.Ext(name) {
	case ".s", ".S", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".f", ".F", ".for", ".f90", ".swig", ".swigcxx", ".syso":
		s.allOf(folder, name, "changed and is not Go")
	}
	for at := folder; ; at = path.Dir(at) {
		for _, pkg := range s.folders[at] {
			for _, pattern := range pkg.EmbedPatterns { // with the absolute name of the folder
				pattern = strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(pattern, pkg.Dir)), "/")
				pattern = path.Join(at, strings.TrimPrefix(pattern, "all:"))
				for file := name; file != "."; file = path.Dir(file) {
					if ok, err := path.Match(pattern, file); ok && err == nil {
						s.allOf(at, name, "changed and is embedded")
					}
				}
			}
		}
		if at == "." {
			break
		}
	}
	for at := folder; ; at = path.Dir(at) {
		if len(s.folders[at]) > 0 {
			if !s.own[at] {
				s.own[at] = true
				s.cause(name, "changed, and tests of %s may read it", at)
			}
			return
		}
		if at == "." {
			return
		}
	}
}

// readFolder compares the declarations in the changed Go files of a folder with those at the revision. The external tests are a
// package of their own.
func (s *search) readFolder(ctx context.Context, folder string, names []string) error {
	compiled := map[string]bool{}
	for _, pkg := range s.folders[folder] {
		for _, file := range pkg.GoFiles {
			compiled[filepath.Base(file)] = true
		}
	}
	before, after := map[part]*version{}, map[part]*version{}
	for _, p := range []part{sources, internalTests, externalTests} {
		before[p], after[p] = newVersion(), newVersion()
	}
	slices.Sort(names)
	for _, name := range names {
		now, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
		exists := err == nil
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		old, existed, err := s.before(ctx, name)
		if err != nil {
			return err
		}
		switch isIn := compiled[path.Base(name)]; {
		case exists && !isIn && (!existed || sameConstraints(old, now)), !exists && !existed:
			s.code = true // left out of this build
			continue
		case exists && existed && (!isIn || !sameConstraints(old, now)):
			s.allOf(folder, name, "the constraints of the file changed")
			continue
		}
		if existed {
			if err := addTo(before, name, old); err != nil {
				s.allOf(folder, name, "did not parse at the revision")
				continue
			}
		}
		if exists {
			if err := addTo(after, name, now); err != nil {
				return fmt.Errorf("%w: %w", ssaload.ErrPackages, err)
			}
		}
	}
	s.unchangedImports(folder, names, before, after)
	for p := range before {
		keys, whole := difference(before[p], after[p], s.isStandard)
		s.code = s.code || whole || len(keys) > 0
		for _, pkg := range s.folders[folder] {
			if strings.HasSuffix(pkg.Name, "_test") != (p == externalTests) {
				continue
			}
			for _, key := range keys {
				if key == initializers && p == internalTests {
					key = testInitializers
				}
				s.changed[nodeOf(pkg.PkgPath, key)] = true
			}
			if whole {
				s.whole[pkg.PkgPath] = s.whole[pkg.PkgPath] || p != internalTests
				s.own[folder] = true
			}
		}
		if whole {
			s.cause(folder, "a directive, an import of C or with a dot, or the name of something predeclared changed")
		}
	}
	return nil
}

// isStandard reports whether a package of the test binaries is of the standard library.
func (s *search) isStandard(path string) bool {
	pkg := s.all[path]
	return pkg != nil && pkg.Module == nil
}

// A part of the Go files in a folder.
type part int

const (
	sources part = iota
	internalTests
	externalTests
)

// addTo adds a file to the part of the folder that it belongs to.
func addTo(versions map[part]*version, name string, text []byte) error {
	return versions[partOf(name, text)].add(name, text)
}

func partOf(name string, text []byte) part {
	if !strings.HasSuffix(name, "_test.go") {
		return sources
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly)
	if err == nil && strings.HasSuffix(file.Name.Name, "_test") {
		return externalTests
	}
	return internalTests
}

// unchangedImports adds the imports of the files of a folder that have not changed.
func (s *search) unchangedImports(folder string, changed []string, before, after map[part]*version) {
	seen := map[string]bool{}
	for _, pkg := range s.folders[folder] {
		for _, file := range pkg.GoFiles {
			name := path.Join(folder, filepath.Base(file))
			if seen[name] || slices.Contains(changed, name) {
				continue
			}
			seen[name] = true
			text, err := os.ReadFile(file)
			if err != nil {
				continue // loading will say so
			}
			p := partOf(name, text)
			parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
			if err != nil {
				continue
			}
			before[p].addImports(parsed)
			after[p].addImports(parsed)
		}
	}
}

// readIgnored makes packages count with files that git ignores.
func (s *search) readIgnored(ctx context.Context) error {
	known, err := s.tracked(ctx)
	if err != nil {
		return err
	}
	unknown, err := s.files(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, name := range unknown {
		known[name] = true
	}
	for folder, packages := range s.folders {
		seen := map[string]bool{}
		for _, pkg := range packages {
			for _, file := range slices.Concat(pkg.GoFiles, pkg.OtherFiles, pkg.EmbedFiles) {
				real, err := filepath.EvalSymlinks(file)
				if err != nil {
					continue
				}
				name, inside := s.rel(real)
				if !inside || !known[name] && !seen[name] {
					seen[name] = true
					s.allOf(folder, name, "git does not know how it changed")
				}
			}
		}
	}
	return nil
}

// load makes the graph.
func (s *search) load(ctx context.Context, of ssaload.Source) error {
	s.graph = newGraph(newCallable(s.all, s.inside))
	s.syntax = map[string][]*packages.Package{}
	loaded, err := of.Load(ctx)
	if err != nil {
		return err
	}
	tested := map[string]bool{}
	for _, pkg := range loaded {
		tested[pkg.PkgPath] = true
		s.take(pkg)
	}
	var others []string
	for _, packages := range s.folders {
		for _, pkg := range packages {
			if !tested[pkg.PkgPath] {
				tested[pkg.PkgPath] = true
				others = append(others, pkg.PkgPath)
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	of.Packages, of.Tests = others, false
	if loaded, err = of.Load(ctx); err != nil {
		return err
	}
	for _, pkg := range loaded {
		s.take(pkg)
	}
	return nil
}

func (s *search) take(pkg *packages.Package) {
	s.graph.addPackage(pkg)
	s.syntax[pkg.PkgPath] = append(s.syntax[pkg.PkgPath], pkg)
}

// tests selects the tests.
func (s *search) tests() *Tests {
	out := &Tests{Commit: s.commit, Packages: map[string]*Selected{}}
	slices.SortFunc(s.causes, func(a, b Cause) int { return strings.Compare(a.String(), b.String()) })
	out.Causes = slices.Compact(s.causes)
	for _, main := range s.roots {
		if !isMain(main) {
			continue
		}
		out.Of++
		if s.graph == nil {
			continue
		}
		if selected := s.testsOf(main); selected != nil {
			out.Packages[testedBy(main)] = selected
		}
	}
	return out
}

// testsOf selects the tests of a test binary. It returns nil if there are none.
func (s *search) testsOf(main *packages.Package) *Selected {
	begin, tests := s.beginnings(main)
	out := &Selected{Names: map[string]bool{}, All: s.everything, Of: len(tests)}
	tested := testedBy(main)
	packages.Visit([]*packages.Package{main}, nil, func(pkg *packages.Package) {
		folder, _ := s.folder(pkg)
		out.All = out.All || s.whole[pkg.PkgPath] || pkg.PkgPath == tested && s.own[folder]
	})
	out.All = out.All || s.matters(begin...)
	for _, test := range tests {
		if !out.All && s.matters(test) {
			_, name, _ := strings.Cut(string(test), " ")
			out.Names[name] = true
		}
	}
	if !out.All && len(out.Names) == 0 {
		return nil
	}
	return out
}

// testedBy returns the import path of the package whose tests are in a test binary.
func testedBy(main *packages.Package) string { return strings.TrimSuffix(main.PkgPath, ".test") }

// beginnings returns what belongs to every test of a test binary, and its tests.
func (s *search) beginnings(main *packages.Package) (begin, tests []node) {
	tested := testedBy(main)
	begin = append(begin, nodeOf(tested, testInitializers))
	packages.Visit([]*packages.Package{main}, nil, func(pkg *packages.Package) {
		if s.inside(pkg) && !isMain(pkg) {
			begin = append(begin, nodeOf(pkg.PkgPath, initializers))
		}
	})
	for _, of := range []string{tested, tested + "_test"} {
		for _, pkg := range s.syntax[of] {
			for _, file := range pkg.Syntax {
				if !strings.HasSuffix(pkg.Fset.PositionFor(file.FileStart, false).Filename, "_test.go") {
					continue
				}
				for _, d := range file.Decls {
					d, ok := d.(*ast.FuncDecl)
					switch {
					case !ok || d.Recv != nil:
					case d.Name.Name == "TestMain":
						begin = append(begin, nodeOf(of, d.Name.Name))
					case isTest(d.Name.Name):
						tests = append(tests, nodeOf(of, d.Name.Name))
					}
				}
			}
		}
	}
	return begin, tests
}

// matters reports whether something that changed is among what a test reaches, or may be because it starts processes.
func (s *search) matters(from ...node) bool {
	reached := s.graph.reached(from)
	if reached[starts] && s.code {
		return true
	}
	for n := range s.changed {
		if reached[n] {
			return true
		}
	}
	return false
}

// isTest reports whether package testing takes a function for a test, a fuzz test or an example.
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest == "" || rest[0] == '_' || !strings.ContainsAny(rest[:1], "abcdefghijklmnopqrstuvwxyz")
		}
	}
	return false
}

// Names returns the import paths of the packages with selected tests, in order.
func (t *Tests) Names() []string { return slices.Sorted(maps.Keys(t.Packages)) }
