package arch

import (
	"fmt"
	"slices"
	"strings"
)

// A pkg has the fields of go list's output that the check needs. Imports are those without tests.
type pkg struct {
	ImportPath string
	Imports    []string
}

// check returns the problems of the imports of packages, one line each.
func check(packages []pkg) (problems []string) {
	for _, p := range packages {
		rel, ok := below(p.ImportPath)
		if !ok {
			continue
		}
		name, from, ok := roomOf(rel)
		if !ok {
			problems = append(problems, rel+" has no room: add it to the table of internal/arch")
			continue
		}
		for _, imported := range p.Imports {
			if why := from.refuses(name, imported); why != "" {
				problems = append(problems, fmt.Sprintf("%s imports %s: %s", rel, imported, why))
			}
		}
	}
	return problems
}

// refuses returns why the packages in room r must not import a package, or the empty string if they
// may. The table has r under the given name.
func (r room) refuses(name, imported string) string {
	target, inside := below(imported)
	if !inside {
		switch {
		case r.library && forbidden[imported] != "":
			return forbidden[imported]
		case r.stdOnly && !standard(imported):
			return "it uses the standard library only"
		}
		return ""
	}
	toName, to, ok := roomOf(target)
	switch {
	case !ok:
		return "that has no room: add it to the table of internal/arch"
	case toName == name:
		return ""
	case r.only != nil && !slices.Contains(r.only, toName):
		return fmt.Sprintf("of the module it uses %q only", r.only)
	case to.floor > r.floor:
		return fmt.Sprintf("floor %d does not import floor %d", r.floor, to.floor)
	case to.floor == r.floor && to.step >= r.step:
		return fmt.Sprintf("on floor %d, step %d does not import step %d", r.floor, r.step, to.step)
	}
	return ""
}

// below returns the path of a package relative to the module, and whether it is in the module.
func below(importPath string) (rel string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// roomOf returns the room of a package and its name in the table. A room of its own comes before one that
// it would share.
func roomOf(rel string) (name string, r room, ok bool) {
	if r, ok := table[rel]; ok {
		return rel, r, true
	}
	for name, r := range table {
		tree, isTree := strings.CutSuffix(name, "/...")
		if isTree && (rel == tree || strings.HasPrefix(rel, tree+"/")) {
			return name, r, true
		}
	}
	return "", room{}, false
}

// standard reports whether an import path belongs to the standard library: the first element of any
// other path has a dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
