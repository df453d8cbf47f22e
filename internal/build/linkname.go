package build

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
)

// NameLinked makes programs know which of their packages call functions that may synchronize past the API of
// the standard library: declarations without a body that go:linkname binds to such a function. Nothing of
// this is left in a program. packages are those to build, with their tests if tests is set. What cannot be
// listed or read is left to the build, which says what is wrong.
func (b *Builder) NameLinked(ctx context.Context, dir string, tests bool, packages ...string) {
	const format = `{{if not .Standard}}{{range .GoFiles}}{{$.ImportPath}}	{{$.Dir}}/{{.}}
{{end}}{{range .CgoFiles}}{{$.ImportPath}}	{{$.Dir}}/{{.}}
{{end}}{{end}}`
	lines, err := b.listLines(ctx, dir, slices.Concat([]string{"-e", "-deps", fmt.Sprintf("-test=%t", tests), "-f", format, "--"}, packages)...)
	if err != nil {
		return
	}
	var linked []string
	for _, line := range lines {
		pkg, file, _ := strings.Cut(line, "\t")
		pkg, _, _ = strings.Cut(pkg, " ") // of a package that is compiled for the tests of another one
		if !slices.Contains(linked, pkg) && linksSynchronization(file) {
			linked = append(linked, pkg)
		}
	}
	if len(linked) > 0 {
		slices.Sort(linked)
		b.AddLinkerFlags("-X=runtime.heisenLinked=" + strings.Join(linked, ","))
	}
}

// linksSynchronization reports whether a file declares such a function.
func linksSynchronization(file string) bool {
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte("//go:linkname ")) {
		return false
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	bodies := map[string]bool{}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			bodies[f.Name.Name] = f.Body != nil
		}
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			words := strings.Fields(c.Text)
			if len(words) != 3 || words[0] != "//go:linkname" {
				continue
			}
			if hasBody, isFunc := bodies[words[1]]; isFunc && !hasBody && maySynchronize(words[2]) {
				return true
			}
		}
	}
	return false
}

// maySynchronize reports whether a function of the standard library may order what its callers do, without
// a hook. Functions of sync/atomic have hooks.
func maySynchronize(function string) bool {
	dot := strings.LastIndexByte(function, '.')
	if dot < 0 {
		return true // assembly or C
	}
	switch pkg, name := function[:dot], function[dot+1:]; pkg {
	case "sync", "internal/sync", "internal/runtime/atomic", "runtime/internal/atomic", "internal/poll":
		return true
	case "runtime":
		return slices.ContainsFunc(synchronizing, func(start string) bool { return strings.HasPrefix(name, start) })
	}
	return false
}

// synchronizing has the beginnings of the names of such functions of package runtime.
var synchronizing = []string{
	"procPin", "procUnpin", "sem", "futex", "gopark", "goready", "lock", "unlock", "note", "cas", "Cas", "xadd", "Xadd", "xchg", "Xchg",
	"atomic", "stopTheWorld", "startTheWorld", "sync_", "mcall", "systemstack", "poll_", "notifyList", "park", "ready",
}
