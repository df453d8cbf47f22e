package ownership

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// Result is what Analyze has found.
type Result struct {
	// Plan has the variables and files; the names of files are relative to Root.
	Plan *focus.Plan
	Root string
	// Variables are in the order of their names.
	Variables []Variable
	// Functions are in the order of their names. Those are left out whose names in programs are not certain.
	Functions []Function
	Notes     []ssaload.Note

	analysis *analysis
}

// Variable says what guards a variable, or why nothing is known to.
type Variable struct {
	Name    focus.Variable
	Owner   focus.Owner
	Safe    bool
	Reasons []Reason // why it is not safe, each once
	// Annotated has the locks that guard it as annotations in the source say. If it is not Safe, they are wrong, or
	// it cannot be proved that they are right.
	Annotated []string
	// Seen says that the owner guards all accesses that the analysis sees. If the variable is not Safe, there may be
	// others: the reasons say where it gets to code that is not analyzed.
	Seen bool
}

// Analyze loads the packages of a source, and the other packages of their module that they import, and says what guards
// the variables. It assumes that the program has no other packages of the module. Packages that cannot be analyzed
// are an error that wraps ssaload.ErrPackages.
//
// It needs about as much memory and time as compiling the packages does.
func Analyze(ctx context.Context, source ssaload.Source) (*Result, error) {
	loaded, err := loadModule(ctx, source)
	if err != nil {
		return nil, err
	}
	a, err := newAnalysis(ctx, loaded)
	if err != nil {
		return nil, fmt.Errorf("analyze ownership: %w", err)
	}
	a.check()
	return a.result(loaded)
}

// loadModule loads packages and what they import of their module.
func loadModule(ctx context.Context, source ssaload.Source) (*ssaload.Loaded, error) {
	const maxRounds = 50
	for range maxRounds {
		loaded, err := source.LoadAll(ctx)
		if err != nil {
			return nil, err
		}
		if loaded.Err != nil {
			return nil, loaded.Err
		}
		have, module := map[string]bool{}, ""
		for _, pkg := range loaded.Packages {
			have[pkg.PkgPath] = true
			if pkg.Module != nil && pkg.Module.Main {
				module = pkg.Module.Path
			}
		}
		missing := map[string]bool{}
		for _, pkg := range loaded.Packages {
			for path, imported := range pkg.Imports {
				if imported.Module != nil && imported.Module.Path == module && module != "" && !have[imported.PkgPath] && !have[path] {
					missing[path] = true
				}
			}
		}
		if len(missing) == 0 {
			return loaded, followImports(ctx, source, loaded)
		}
		if len(source.Packages) == 0 {
			source.Packages = []string{"."}
		}
		for path := range missing {
			source.Packages = append(source.Packages, path)
		}
	}
	return nil, fmt.Errorf("load packages: imports of imports do not end")
}

// followedPackages are packages of the standard library that do nothing but to call methods of what they are given.
// They are analyzed together with those of the module.
var followedPackages = map[string]bool{"container/heap": true, "sort": true}

// followImports loads the packages of the standard library that are to be analyzed too.
func followImports(ctx context.Context, source ssaload.Source, loaded *ssaload.Loaded) error {
	imported := map[string]bool{}
	for _, pkg := range loaded.Packages {
		for path := range pkg.Imports {
			if followedPackages[path] {
				imported[path] = true
			}
		}
	}
	for _, pkg := range loaded.Packages {
		delete(imported, pkg.PkgPath) // the standard library is analyzed itself
	}
	if len(imported) == 0 {
		return nil
	}
	source.Packages, source.Tests, source.Fset = slices.Sorted(maps.Keys(imported)), false, loaded.Fset
	more, err := source.LoadAll(ctx)
	if err != nil {
		return err
	}
	loaded.Packages = append(loaded.Packages, more.Packages...)
	return more.Err
}

func (a *analysis) result(loaded *ssaload.Loaded) (*Result, error) {
	r := &Result{Plan: &focus.Plan{Variables: map[focus.Variable]focus.Protection{}, Files: map[string]focus.File{}}, Notes: loaded.Notes, analysis: a}
	for _, in := range a.packages {
		if in.pkg.Module != nil {
			r.Root = in.pkg.Module.Dir
			break
		}
	}
	if r.Root == "" && len(a.packages) > 0 && len(a.packages[0].pkg.GoFiles) > 0 {
		r.Root = filepath.Dir(a.packages[0].pkg.GoFiles[0])
	}
	seen := a.seenSafe()
	for _, m := range append(slices.Clone(a.memories()), a.shown...) {
		if m.other != "" || m.elements {
			continue
		}
		v := a.verdictOf(m)
		if of := a.variables[m]; of != nil && len(of.accesses) == 0 {
			continue
		}
		owner := v.owner
		r.Plan.Variables[m.Variable] = focus.Protection{Owner: owner, Unsafe: !v.safe}
		variable := Variable{Name: m.Variable, Owner: owner, Safe: v.safe, Reasons: distinct(v.reasons), Seen: v.safe}
		if s := seen[a.judgedAs(m)]; s != nil && s.safe && !v.safe {
			variable.Seen, variable.Owner = true, s.owner
		}
		for _, note := range a.annotations[m.Variable] {
			variable.Annotated = append(variable.Annotated, note.lock)
		}
		r.Variables = append(r.Variables, variable)
	}
	slices.SortFunc(r.Variables, func(x, y Variable) int { return strings.Compare(x.Name.String(), y.Name.String()) })
	var reads, writes map[string]focus.Lines
	reads, writes, r.Plan.Functions = a.lines()
	r.Functions = a.atomicities()
	for _, f := range r.Functions {
		if p, ok := r.Plan.Functions[f.Name]; ok {
			p.Atomic = f.Atomicity <= focus.Atomic
			r.Plan.Functions[f.Name] = p
		}
	}
	for _, name := range a.files() {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("hash the source: %w", err)
		}
		relative, err := filepath.Rel(r.Root, name)
		if err != nil {
			return nil, fmt.Errorf("hash the source: %w", err)
		}
		r.Plan.Files[filepath.ToSlash(relative)] = focus.File{Hash: focus.HashOf(content), Reads: reads[name], Writes: writes[name]}
	}
	slices.SortFunc(r.Notes, func(x, y ssaload.Note) int { return x.Line - y.Line })
	return r, nil
}

// distinct returns the reasons, each once.
func distinct(reasons []Reason) (once []Reason) {
	known := map[Reason]bool{}
	for _, r := range reasons {
		if !known[r] {
			known[r] = true
			once = append(once, r)
		}
	}
	return once
}
