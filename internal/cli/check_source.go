package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	goanalysis "golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/vet"
)

// staticChecks is what heisen check learns from the source.
type staticChecks struct {
	findings []split
	untested []string       // import paths of packages without tests
	unread   []string       // why packages were not analyzed
	starts   map[string]int // by import path: the statements of a package and its tests that start goroutines
	tested   []string       // import paths of packages with tests
}

func checkSource(ctx context.Context, of ssaload.Source) (*staticChecks, error) {
	loaded, err := of.LoadAll(ctx)
	if err != nil {
		return nil, err
	}
	c := &staticChecks{starts: map[string]int{}}
	if loaded.Err != nil {
		c.unread = append(c.unread, loaded.Err.Error())
	}
	c.count(loaded.Packages)
	analyzed, err := checker.Analyze(vet.Analyzers(), loaded.Packages, nil)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{} // a package and its variant for tests have the same files
	for a := range analyzed.All() {
		if a.Err != nil {
			c.unread = append(c.unread, fmt.Sprintf("%s: %v", a.Package.PkgPath, a.Err))
			continue
		}
		for _, d := range a.Diagnostics {
			f := diagnosed(a.Analyzer.Name, &d, a.Package)
			if !seen[f.Fingerprint] {
				seen[f.Fingerprint] = true
				c.findings = append(c.findings, f)
			}
		}
	}
	return c, nil
}

// count notes which packages have tests, and what starts goroutines.
func (c *staticChecks) count(all []*packages.Package) {
	tested := map[string]bool{}
	for _, p := range all {
		of := cmp.Or(p.ForTest, p.PkgPath)
		tested[of] = tested[of] || p.ForTest != ""
		for _, file := range p.Syntax {
			c.starts[of] += starts(file)
		}
	}
	for path, has := range tested {
		if has {
			c.tested = append(c.tested, path)
		} else {
			c.untested = append(c.untested, path)
		}
	}
	slices.Sort(c.tested)
	slices.Sort(c.untested)
}

// starts counts the statements that start goroutines, or let tests run beside others.
func starts(file *ast.File) (n int) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.GoStmt:
			n++
		case *ast.CallExpr:
			if method, ok := x.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Go", "Parallel", "AfterFunc"}, method.Sel.Name) {
				n++
			}
		}
		return true
	})
	return n
}

// byPromise orders programs such that those come first that start the most goroutines.
func (c *staticChecks) byPromise(a, b *controlled.Program) int {
	return cmp.Compare(c.starts[b.Tested()], c.starts[a.Tested()])
}

// A split is what a static check has found: two critical sections, of which the second one should have been a part of the first.
type split struct {
	report.Finding
	within [2]lines // the functions of the accesses
}

// lines are some of a file, from the first one to the last one.
type lines struct {
	file        string
	first, last int
}

// has reports whether a site is in the lines.
func (l *lines) has(site string) bool {
	at := strings.LastIndexByte(site, ':')
	if at < 0 || site[:at] != l.file {
		return false
	}
	line, err := strconv.Atoi(site[at+1:])
	return err == nil && l.first <= line && line <= l.last
}

// happenedIn reports whether the schedule of a finding shows that another goroutine comes between the two sections, with the lock and in the
// function of the second one.
func (s *split) happenedIn(f *report.Finding) bool {
	first, between := map[heisen.Thread]string{}, map[heisen.Thread]bool{} // the lock of the first section; whether somebody came between
	for i := range f.Witness {
		step := &f.Witness[i]
		if step.Op == heisen.Acquire.String() && s.within[1].has(step.Site) {
			if first[step.Thread] == step.Object && between[step.Thread] {
				return true
			}
			for thread, lock := range first {
				between[thread] = between[thread] || thread != step.Thread && lock == step.Object
			}
			delete(first, step.Thread)
		}
		if step.Op == heisen.Release.String() && s.within[0].has(step.Site) {
			first[step.Thread], between[step.Thread] = step.Object, false
		}
	}
	return false
}

// diagnosed returns a diagnostic of an analyzer as a finding: the value is read, and then written. Its fingerprint has the function of the
// write and the message, and the line counted from where the function begins.
func diagnosed(by string, d *goanalysis.Diagnostic, pkg *packages.Package) split {
	s := split{Finding: report.Finding{Detector: by, Kind: heisen.Atomicity, Count: 1, Message: d.Message, Package: pkg.PkgPath}}
	for i, pos := range []token.Pos{d.Related[0].Pos, d.Pos} {
		at, function := pkg.Fset.Position(pos), pkg.PkgPath
		s.within[i] = lines{at.Filename, 1, at.Line}
		for _, file := range pkg.Syntax {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Pos() <= pos && pos < f.End() {
					function += "." + methodName(f)
					s.within[i].first, s.within[i].last = pkg.Fset.Position(f.Pos()).Line, pkg.Fset.Position(f.End()).Line
				}
			}
		}
		op := heisen.Read
		if i == 1 {
			op = heisen.Write
			sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", by, function, at.Line-s.within[i].first))
			s.Fingerprint = hex.EncodeToString(sum[:8])
		}
		s.Accesses = append(s.Accesses, report.Access{
			Op: op.String(), Site: fmt.Sprintf("%s:%d", at.Filename, at.Line), LocksUnknown: true, Locks: []report.Lock{},
			Stack: []report.Frame{{Func: function, File: at.Filename, Line: at.Line}},
		})
	}
	return s
}

// methodName returns the name of a function as in stacks, without its package.
func methodName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of, pointer := f.Recv.List[0].Type, false
	if star, ok := of.(*ast.StarExpr); ok {
		of, pointer = star.X, true
	}
	arguments := ""
	switch x := of.(type) {
	case *ast.IndexExpr:
		of, arguments = x.X, "[...]"
	case *ast.IndexListExpr:
		of, arguments = x.X, "[...]"
	}
	name := types.ExprString(of) + arguments
	if pointer {
		name = "(*" + name + ")"
	}
	return name + "." + f.Name.Name
}
