package unhook

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// norace tells the compiler to put no hooks into a function.
const norace = "//go:norace"

// Mark returns the source of a file with a directive in front of each function that needs no hooks, so that the compiler puts
// none into them. Lines keep their numbers: the directive takes the place of a blank line or a line of comment between a function
// and what is in front of it. Functions are left alone that have no such line, and functions with type parameters. It returns nil if there
// is nothing to mark.
//
// A function without hooks does not report its entry either, so call paths do not have the places where it is called. Functions
// that call others which may report something are worth that only if they have a loop.
func Mark(source []byte, hooksOf func(line int, name string) Hooks) []byte {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || special(file) {
		return nil
	}
	lines := strings.SplitAfter(string(source), "\n")
	changed := false
	last := fset.PositionFor(file.Name.End(), false).Line // of what is in front
	for _, decl := range file.Decls {
		before := last
		last = fset.PositionFor(decl.End(), false).Line
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Type.TypeParams != nil || receiverHasParameters(fn) {
			continue
		}
		number := fset.PositionFor(fn.Type.Func, false).Line
		hooks := hooksOf(number, fn.Name.Name)
		if hooks == Needed || hooks == NeedlessIn && !loops(fn.Body) {
			continue
		}
		for at := number - 1; at > before; at-- {
			text := strings.TrimSpace(lines[at-1])
			if text != "" && !plainComment(text) || inBlockComment(fset, file, at) {
				continue
			}
			lines[at-1], changed = norace+"\n", true
			break
		}
	}
	if !changed {
		return nil
	}
	return []byte(strings.Join(lines, ""))
}

// special reports whether a file is not compiled as it stands, or has lines with other numbers.
func special(file *ast.File) bool {
	for _, spec := range file.Imports {
		if spec.Path.Value == `"C"` {
			return true
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//line ") || strings.HasPrefix(c.Text, "/*line ") {
				return true
			}
		}
	}
	return false
}

func receiverHasParameters(fn *ast.FuncDecl) bool {
	found := false
	if fn.Recv != nil {
		ast.Inspect(fn.Recv, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.IndexExpr, *ast.IndexListExpr:
				found = true
			}
			return true
		})
	}
	return found
}

// plainComment reports whether a line is a comment and no directive.
func plainComment(line string) bool {
	return line == "//" || strings.HasPrefix(line, "// ")
}

// inBlockComment reports whether a line is part of a comment of several lines, or touches one.
func inBlockComment(fset *token.FileSet, file *ast.File, line int) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "/*") && fset.PositionFor(c.Pos(), false).Line <= line && line <= fset.PositionFor(c.End(), false).Line {
				return true
			}
		}
	}
	return false
}

// loops reports whether a function's own code repeats.
func loops(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt, *ast.RangeStmt:
			found = true
		}
		return !found
	})
	return found
}
