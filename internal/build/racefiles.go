package build

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/racetag"
)

// RaceFiles returns the source files of some packages, and of those they import, in packages of the main modules, that
// the tag race leaves out of builds. With tests, these are also the files of tests. If the builder was made with the
// tag racetag.Without, they are taken into builds, and RaceFiles returns none: they lose their constraints, and those
// that only builds with the tag have lose their code. Other modules, and the standard library, are not changed.
func (b *Builder) RaceFiles(ctx context.Context, dir string, tests bool, packages ...string) (leftOut []string, err error) {
	files, err := b.constrained(ctx, dir, tests, packages)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	with := b.matching([]string{racetag.Name})
	without := b.matching(nil)
	texts := map[string][]byte{}
	for _, file := range files {
		among, other := matches(&with, file), matches(&without, file)
		switch {
		case among == other:
		case !b.noRace:
			if other {
				leftOut = append(leftOut, file)
			}
		case other:
			texts[file], err = unconstrained(file)
		default:
			texts[file], err = emptied(file)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(texts) > 0 {
		err = b.Replace(texts)
	}
	return leftOut, err
}

// constrained returns the files of packages that may be among those of a build, depending on the tag race. What is left
// out for another reason may be among them.
func (b *Builder) constrained(ctx context.Context, dir string, tests bool, packages []string) ([]string, error) {
	kinds := []string{"IgnoredGoFiles", "IgnoredOtherFiles"}
	if b.noRace {
		kinds = append(kinds, "GoFiles", "CgoFiles", "TestGoFiles", "XTestGoFiles", "SFiles", "CFiles", "CXXFiles", "HFiles")
	}
	format := "{{if or .Module (not .Standard)}}{{if or (not .Module) .Module.Main}}"
	for _, kind := range kinds {
		format += "{{range ." + kind + "}}{{$.ImportPath}}\t{{$.Dir}}\t{{.}}\n{{end}}"
	}
	format += "{{end}}{{end}}"
	lines, err := b.listLines(ctx, dir, slices.Concat([]string{"-e", "-deps", fmt.Sprintf("-test=%t", tests), "-f", format, "--"}, packages)...)
	var files []string
	for _, line := range lines {
		words := strings.SplitN(line, "\t", 3)
		if len(words) == 3 && !strings.HasSuffix(words[0], ".test") && (tests || !strings.HasSuffix(words[2], "_test.go")) {
			files = append(files, filepath.Join(words[1], words[2]))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), err
}

// matching returns how files are chosen with further build tags.
func (b *Builder) matching(tags []string) build.Context {
	t := b.Toolchain
	c := build.Default
	c.GOOS, c.GOARCH, c.BuildTags = t.GOOS, t.GOARCH, append(tags, b.tags...)
	if _, minor, ok := strings.Cut(releaseOf(t.Version), "."); ok {
		c.ReleaseTags = nil
		for n := range atoi(minor) {
			c.ReleaseTags = append(c.ReleaseTags, "go1."+strconv.Itoa(n+1))
		}
	}
	return c
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

func matches(c *build.Context, file string) bool {
	ok, err := c.MatchFile(filepath.Dir(file), filepath.Base(file))
	return ok && err == nil
}

// unconstrained returns the text of a file without its build constraint. Lines keep their numbers.
func unconstrained(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !isGo(file) {
		return unconstrainedLines(text), nil
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return nil, err
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			if c.Pos() < parsed.Package && isConstraint(c) {
				for at := fset.Position(c.Pos()).Offset + len("//"); at < fset.Position(c.End()).Offset; at++ {
					text[at] = ' '
				}
			}
		}
	}
	return text, nil
}

func isGo(file string) bool { return strings.HasSuffix(file, ".go") }

// unconstrainedLines is unconstrained for assembly or C. A constraint stands in a line of its own.
func unconstrainedLines(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if code := bytes.TrimSpace(line); isConstraint(&ast.Comment{Text: string(code)}) && bytes.HasPrefix(code, []byte("//")) {
			line = line[len(bytes.TrimRight(line, "\r\n")):]
		}
		out = append(out, line...)
	}
	return out
}

// isConstraint reports whether a comment is a build constraint, in its form or in that of old releases.
func isConstraint(c *ast.Comment) bool {
	return strings.HasPrefix(c.Text, "//go:build ") || strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), "+build")
}

// emptied returns a file without code, if it is Go, of the same package.
func emptied(file string) ([]byte, error) {
	if !isGo(file) {
		return []byte("\n"), nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
	if err != nil {
		return nil, err
	}
	return []byte("package " + parsed.Name.Name + "\n"), nil
}
