package build

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Hide compiles the packages that match the patterns as hidden ones, whatever the patterns of New, and
// returns their import paths. With calls, they have the hooks by which calls of their functions are
// recognized; otherwise only their synchronization is reported. The go command compiles the external
// tests of a package in the same way.
func (b *Builder) Hide(ctx context.Context, dir string, calls bool, patterns ...string) (packages []string, err error) {
	how := atomicsOnly + " -l" // what is inlined elsewhere would be compiled as there
	if calls {
		how = instrumentAlone
	}
	for _, pattern := range patterns {
		if _, err := b.patternFlags(ctx, dir, pattern); err != nil {
			return nil, err
		}
		matches, err := b.list(ctx, dir, pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range matches {
			if top, _, _ := strings.Cut(path, "/"); top == "runtime" || top == "sync" || top == "internal" {
				return nil, fmt.Errorf("%s cannot be hidden: it is part of how programs run", path)
			}
		}
		packages = append(packages, matches...)
		b.gcflags = append(b.gcflags, compiled{pattern, how})
	}
	return packages, nil
}

// Tested reports whether a package that matches patterns is one of those that are tested.
func (b *Builder) Tested(ctx context.Context, dir string, patterns, tested []string) (bool, error) {
	hidden, err := b.list(ctx, dir, slices.Concat([]string{"--"}, patterns)...)
	if err != nil {
		return false, err
	}
	paths, err := b.list(ctx, dir, slices.Concat([]string{"-e", "--"}, tested)...)
	return slices.ContainsFunc(hidden, func(p string) bool { return slices.Contains(paths, p) }), err
}
