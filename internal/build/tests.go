package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// TestPackage is a package that has tests.
type TestPackage struct {
	Path string // import path
	Dir  string // where its tests run
	// Files are its source files, named as the compiler names them, those of its tests included, but not those that are
	// generated from cgo files.
	Files []string
}

// TestPackages returns the packages with tests that match patterns, "." if there are none, in the
// order of the go command. flags are build flags; only -tags counts.
func (b *Builder) TestPackages(ctx context.Context, dir string, flags []string, patterns ...string) (tested []TestPackage, err error) {
	tags, _ := cutTags(flags)
	args := append([]string{"list"}, b.listFlags...)
	args = append(args, "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,DepsErrors,Error", "-e", "-test=false",
		"-tags="+strings.Join(b.chosen(tags), ","))
	out, err := b.Toolchain.command(ctx, dir, append(args, patterns...)...).Output()
	if err != nil {
		return nil, commandError("go list", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir           string
			GoFiles, CgoFiles         []string
			TestGoFiles, XTestGoFiles []string
			Error                     *struct{ Err string }
		}
		err := dec.Decode(&p)
		switch {
		case errors.Is(err, io.EOF):
			return tested, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		case p.Error != nil:
			return nil, &Error{Output: p.Error.Err}
		case len(p.TestGoFiles)+len(p.XTestGoFiles) > 0:
			files := slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles)
			for i := range files {
				files[i] = filepath.ToSlash(filepath.Join(p.Dir, files[i]))
			}
			tested = append(tested, TestPackage{p.ImportPath, p.Dir, files})
		}
	}
}

// BuildTest compiles the tests of a package to an executable at output, as go test would. flags are
// further build flags. The error has what the compiler printed.
func (b *Builder) BuildTest(ctx context.Context, dir, output string, flags []string, pkg string) error {
	args := slices.Concat([]string{"-c", "-vet=off", "-o", output}, flags, []string{pkg})
	return b.compile(ctx, dir, "test", args)
}
