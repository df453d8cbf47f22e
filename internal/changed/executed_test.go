package changed

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/cover"
	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// What a test executes is reached from it: each function of the module whose code the coverage of the test alone has.
func TestExecutedIsReached(t *testing.T) {
	root := must.Make(filepath.Abs("../.."))
	for _, module := range []struct {
		dir      string
		patterns []string
		tier     tier.Tier
	}{
		{must.Make(filepath.Abs("testdata/module")), []string{"./shapes", "./store", "./words"}, tier.Default},
		{root, []string{"./internal/scc", "./internal/textdiff", "./section"}, tier.CI},
		{root, []string{"./lockset", "./heal", "./report", "./trace", "./racefuzz", "./mcm/order"}, tier.Nightly},
	} {
		if tier.Of() < module.tier {
			continue
		}
		s := &search{
			repository: &repository{root: must.Make(filepath.EvalSymlinks(module.dir))},
			all:        map[string]*packages.Package{}, folders: map[string][]*packages.Package{}, whole: map[string]bool{}, changed: map[node]bool{},
		}
		source := ssaload.Source{Dir: module.dir, Packages: module.patterns, Tests: true}
		var err error
		s.roots, err = source.Listing(t.Context())
		check(t, err)
		s.index()
		check(t, s.load(t.Context(), source))
		declared := &declared{dir: module.dir, files: map[string]map[int][]node{}}
		functions := 0
		for _, main := range s.roots {
			if !isMain(main) {
				continue
			}
			tested := testedBy(main)
			begin, tests := s.beginnings(main)
			if len(tests) == 0 {
				t.Errorf("%s: no tests", tested)
			}
			binary := filepath.Join(t.TempDir(), "tests")
			build := exec.Command("go", "test", "-c", "-cover", "-coverpkg=./...", "-o", binary, tested)
			build.Dir = module.dir
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			folder, _ := s.folder(main)
			if folder == "" {
				folder = s.folderOf(tested)
			}
			for _, test := range tests {
				_, name, _ := strings.Cut(string(test), " ")
				reached := s.graph.reached(append(slices.Clone(begin), test))
				profile := filepath.Join(t.TempDir(), "profile")
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				run := exec.CommandContext(ctx, binary, "-test.short", "-test.run=^"+name+"$", "-test.coverprofile="+profile)
				run.Dir = filepath.Join(module.dir, folder)
				_ = run.Run() // it may take too long, or fail
				stop()
				if _, err := os.Stat(profile); err != nil {
					continue
				}
				for _, of := range must.Make(cover.ParseProfiles(profile)) {
					for _, block := range of.Blocks {
						if block.Count == 0 {
							continue
						}
						nodes := declared.at(t, s, of.FileName, block.StartLine)
						functions++
						if !slices.ContainsFunc(nodes, func(n node) bool { return reached[n] }) {
							t.Errorf("%s executes %s:%d (%v), which is not reached", test, of.FileName, block.StartLine, nodes)
						}
					}
				}
			}
		}
		if functions < 10 {
			t.Errorf("%s: only %d places executed", module.dir, functions)
		}
	}
}

// folderOf returns the folder of a package.
func (s *search) folderOf(pkg string) string {
	for folder, packages := range s.folders {
		for _, p := range packages {
			if p.PkgPath == pkg {
				return folder
			}
		}
	}
	return ""
}

// declared has, for lines of files, the nodes of their declarations.
type declared struct {
	dir   string
	files map[string]map[int][]node
}

func (d *declared) at(t *testing.T, s *search, name string, line int) []node {
	t.Helper()
	lines, ok := d.files[name]
	if !ok {
		lines = map[int][]node{}
		d.files[name] = lines
		pkg := path.Dir(name)
		fset := token.NewFileSet()
		file := must.Make(parser.ParseFile(fset, filepath.Join(d.dir, s.folderOf(pkg), path.Base(name)), nil, 0))
		put := func(n ast.Node, nodes ...node) {
			for l := fset.Position(n.Pos()).Line; l <= fset.Position(n.End()).Line; l++ {
				lines[l] = append(lines[l], nodes...)
			}
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				put(decl, nodeOf(pkg, funcKey(decl)))
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if values, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range values.Names {
							put(values, nodeOf(pkg, name.Name), nodeOf(pkg, initializers))
						}
					}
				}
			}
		}
	}
	return lines[line]
}
