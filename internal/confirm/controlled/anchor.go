package controlled

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/racefuzz"
)

// The places of a schedule that is kept for later versions of a program are anchored: the line of a target counts from the declaration of its
// function, and has a plus before it. So it does not depend on what is added or taken away elsewhere, nor on the file of the package in which the
// function is.

// Anchor anchors the targets of a schedule whose places are in a folder. Those whose functions are not found stay as they are.
func Anchor(s *racefuzz.Schedule, folder string) {
	s.Targets = movedTargets(s.Targets, func(t racefuzz.Target) string {
		file, line, ok := placeIn(t.Place, folder)
		if !ok {
			return t.Place
		}
		d := declarationsIn(filepath.Dir(file)).of(t.Func)
		if d == nil || d.file != file || line < d.line {
			return t.Place
		}
		return t.Place[:strings.LastIndexByte(t.Place, ':')] + ":+" + strconv.Itoa(line-d.line)
	})
}

// Settle is the inverse of Anchor, for the present files in a folder. Targets whose functions are gone get the last line that there can be.
func Settle(s *racefuzz.Schedule, folder string) {
	s.Targets = movedTargets(s.Targets, func(t racefuzz.Target) string {
		file, line, ok := placeIn(t.Place, folder)
		if !ok || !strings.Contains(t.Place, ":+") {
			return t.Place
		}
		d := declarationsIn(filepath.Dir(file)).of(t.Func)
		if d == nil {
			return t.Place[:strings.LastIndexByte(t.Place, ':')] + ":" + strconv.Itoa(lastLine)
		}
		name := d.file
		if rel, err := filepath.Rel(folder, d.file); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
		return name + ":" + strconv.Itoa(d.line+line)
	})
}

// lastLine is a line that no file has.
const lastLine = 1 << 30

func movedTargets(all []racefuzz.Target, place func(racefuzz.Target) string) (out []racefuzz.Target) {
	for _, t := range all {
		t.Place = place(t)
		out = append(out, t)
	}
	return out
}

// placeIn splits a place. Its file is below the folder.
func placeIn(place, folder string) (file string, line int, ok bool) {
	at := strings.LastIndexByte(place, ':')
	if at < 0 || !filepath.IsLocal(filepath.FromSlash(place[:at])) {
		return "", 0, false
	}
	line, err := strconv.Atoi(place[at+1:])
	return filepath.Join(folder, filepath.FromSlash(place[:at])), line, err == nil && line >= 0 && line < lastLine
}

// declared is the declaration of a function.
type declared struct {
	file string
	line int
}

// declarations are those of a package and its tests, by the names that functions have in programs, without the package.
type declarations map[string]declared

// declarationsIn returns the declarations in the files of a folder. Files that cannot be parsed are left out.
func declarationsIn(folder string) declarations {
	all := declarations{}
	files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, file := range files {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				all[nameOf(fn)] = declared{file, fset.PositionFor(fn.Pos(), false).Line}
			}
		}
	}
	return all
}

// nameOf returns the name of a function in programs, without the package and type arguments.
func nameOf(fn *ast.FuncDecl) string {
	switch receiver, pointer := source.ReceiverType(fn); {
	case receiver == "":
		return fn.Name.Name
	case pointer:
		return "(*" + receiver + ")." + fn.Name.Name
	default:
		return receiver + "." + fn.Name.Name
	}
}

// of returns the declaration of a function, or of the one that a function literal is in; nil if there is none.
func (all declarations) of(function string) *declared {
	name := function[strings.LastIndexByte(function, '/')+1:]
	if _, after, ok := strings.Cut(name, "."); ok {
		name = strings.ReplaceAll(after, "[...]", "")
	}
	for name != "" {
		if d, ok := all[name]; ok {
			return &d
		}
		name = name[:max(strings.LastIndexByte(name, '.'), 0)]
	}
	return nil
}
