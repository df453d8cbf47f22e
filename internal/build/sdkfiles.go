package build

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/racetag"
)

// The files of a GOROOT in which -race means heisen. Builds without -race compile the original text of every file, and
// builds with -race what the overlay has in its place, so each file that the overlay changes becomes two: the original
// one with the build constraint !race, and the changed one, under another name, with the constraint race.

// sdkFiles returns the files below GOROOT/src that differ from those of the toolchain, or are added, by path. A nil
// file is one that is removed.
func sdkFiles(t *Toolchain) (overlay, error) {
	src := filepath.Join(t.Root, "src")
	injected, err := newOverlay(t)
	if err != nil {
		return nil, err
	}
	files := overlay{}
	for name, changed := range injected {
		original, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = files.addConstrained(name, changed)
		case err == nil && changed == nil:
			err = files.remove(name, original)
		case err == nil && raceOnly(original):
			err = files.addConstrained(name, changed)
		case err == nil:
			err = files.split(name, original, changed)
		}
		if err != nil {
			return nil, fmt.Errorf("%w GOROOT: %w", ErrUnsupported, err)
		}
	}
	return files, files.patchGoCommand(src)
}

// addConstrained adds a file that only builds with -race have.
func (o overlay) addConstrained(name string, text []byte) (err error) {
	if _, present := o[name]; present {
		return fmt.Errorf("two files %s", name)
	}
	o[name], err = constrained(name, text, racetag.Name)
	return err
}

// remove removes a file from builds with -race. Libraries of the race detector have no other use.
func (o overlay) remove(name string, original []byte) (err error) {
	if path.Ext(name) == ".syso" || raceOnly(original) {
		o[name] = nil
		return nil
	}
	o[name], err = constrained(name, original, "!"+racetag.Name)
	return err
}

// split adds both texts of a file. The changed one has the lines of the original one.
func (o overlay) split(name string, original, changed []byte) error {
	plain, err := constrained(name, original, "!"+racetag.Name)
	if err != nil {
		return err
	}
	o[name] = plain
	return o.addConstrained(changedName(name), changed)
}

// changedName returns the name of the changed text of a file. What its name says about the platform stands after the
// first underscore.
func changedName(name string) string {
	dir, base := path.Split(name)
	end := strings.IndexAny(base, "_.")
	return dir + base[:end] + "_heisen" + base[end:]
}

// constrained returns a file with a further build constraint. All lines stay where they are: a constraint that the file
// has is extended, or the new one takes the place of the empty line that ends its first comment. Without such a line, it
// stands before the text.
func constrained(name string, text []byte, tag string) ([]byte, error) {
	var out []byte
	empty := -1 // offset of the first empty line
	for line := range bytes.Lines(text) {
		code := bytes.TrimSpace(line)
		switch {
		case constraint.IsGoBuild(string(code)):
			expr, err := constraint.Parse(string(code))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			replaced := fmt.Appendf(out, "//go:build %s && (%s)\n", tag, expr)
			return append(replaced, text[len(out)+len(line):]...), nil
		case len(code) > 0 && !bytes.HasPrefix(code, []byte("//")):
			return insertConstraint(text, empty, tag), nil
		case len(code) == 0 && empty < 0:
			empty = len(out)
		}
		out = append(out, line...)
	}
	return nil, fmt.Errorf("%s: no package", name)
}

// insertConstraint puts a constraint in the place of the empty line at an offset, or before the text if there is none.
func insertConstraint(text []byte, empty int, tag string) []byte {
	line := []byte("//go:build " + tag)
	if empty < 0 {
		return slices.Concat(line, []byte("\n\n"), text)
	}
	return slices.Concat(text[:empty], line, text[empty:])
}

// raceOnly reports whether only builds with the tag race have a file.
func raceOnly(text []byte) bool {
	for line := range bytes.Lines(text) {
		code := strings.TrimSpace(string(line))
		if constraint.IsGoBuild(code) {
			expr, err := constraint.Parse(code)
			return err == nil && needsRace(expr)
		}
		if code != "" && !strings.HasPrefix(code, "//") {
			break
		}
	}
	return false
}

// needsRace reports whether a constraint does not hold without the tag race.
func needsRace(expr constraint.Expr) bool {
	switch expr := expr.(type) {
	case *constraint.TagExpr:
		return expr.Tag == racetag.Name
	case *constraint.AndExpr:
		return needsRace(expr.X) || needsRace(expr.Y)
	case *constraint.OrExpr:
		return needsRace(expr.X) && needsRace(expr.Y)
	}
	return false
}

// The go command's function that checks the flag -race.
const (
	goCommand     = "cmd/go/internal/work"
	raceCheckFile = goCommand + "/init.go"
	raceCheck     = "instrumentInit"
)

// patchGoCommand changes the one check of the go command that -race needs: it wants to have cgo, and the platforms of Go's
// own race detector. Now it wants to have heisen's platforms.
func (o overlay) patchGoCommand(src string) error {
	text, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(raceCheckFile)))
	if err != nil {
		return fmt.Errorf("%w GOROOT: %w", ErrUnsupported, err)
	}
	o[raceCheckFile], err = apply(raceCheckFile, text,
		replaceCalls(raceCheck, "platform.RaceDetectorSupported(cfg.Goos, cfg.Goarch)", "heisenSupports(cfg.Goos, cfg.Goarch)", 1),
		narrowIf(raceCheck, "cfg.BuildContext.CgoEnabled", "!cfg.BuildRace"))
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("package work\n\n// heisenSupports reports whether heisen instruments programs for a platform.\n")
	b.WriteString("func heisenSupports(goos, goarch string) bool {\n\tswitch goos + \"/\" + goarch {\n\tcase ")
	for i, platform := range PortNames(Emulated) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", platform)
	}
	b.WriteString(":\n\t\treturn true\n\t}\n\treturn false\n}\n")
	o[goCommand+"/heisen.go"] = []byte(b.String())
	return nil
}

// narrowIf adds a condition to the one if statement of a function whose own condition has the selector expression about,
// in gofmt's form.
func narrowIf(name, about, condition string) patch {
	return func(s *source) error {
		f, err := s.body(name)
		if err != nil {
			return err
		}
		var found []*ast.IfStmt
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if stmt, ok := n.(*ast.IfStmt); ok && s.mentions(stmt.Cond, about) {
				found = append(found, stmt)
			}
			return true
		})
		if len(found) != 1 {
			return fmt.Errorf("%d statements if with %s in %s, not 1", len(found), about, name)
		}
		s.insert(found[0].Cond.Pos(), condition+" && (")
		s.insert(found[0].Cond.End(), ")")
		return nil
	}
}

// mentions reports whether an expression has a selector expression, in gofmt's form.
func (s *source) mentions(in ast.Expr, selector string) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && s.printed(sel) == selector {
			found = true
		}
		return !found
	})
	return found
}
