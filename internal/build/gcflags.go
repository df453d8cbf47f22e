package build

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// AddGcflags adds compiler flags of the user's, which are values of the go command's -gcflags, to
// those with which packages are compiled. packages are those that the command line names. It comes
// after Hide.
//
// The go command gives a package the flags of the last pattern that matches it. So a user's pattern
// gets, for each way in which heisen compiles some of its packages, a value of its own. The
// packages that the overlay changes, and those that they call, are compiled without the user's
// flags: without optimization, for example, its functions would need more stack than there is.
func (b *Builder) AddGcflags(ctx context.Context, dir string, packages []string, values ...string) error {
	own := matcher{b: b, dir: dir, packages: packages, entries: slices.Clone(b.gcflags)}
	shared := false // some pattern may match packages of the recorder
	for _, value := range values {
		pattern, flags, err := perPackage(value)
		if err != nil {
			return fmt.Errorf("-gcflags=%s: %w", value, err)
		}
		shared = shared || pattern != ""
		last := own.entries[len(own.entries)-1]
		switch {
		case pattern == "all":
			for _, c := range own.entries {
				b.gcflags = append(b.gcflags, compiled{c.pattern, join(c.flags, flags)})
			}
		case pattern == "" && last.pattern == "":
			b.gcflags = append(b.gcflags, compiled{"", join(last.flags, flags)})
		default:
			named := packages
			if pattern != "" {
				named = []string{pattern}
			}
			paths, err := own.paths(ctx, named...)
			if err != nil {
				return err
			}
			for _, path := range paths {
				names := []string{path.name}
				if !literal(pattern) { // external tests are packages of their own, which go list leaves out
					names = append(names, path.name+"_test")
				}
				for _, name := range names {
					how, err := own.flagsOf(ctx, path, name)
					if err != nil {
						return err
					}
					b.gcflags = append(b.gcflags, compiled{name, join(how, flags)})
				}
			}
		}
	}
	if !shared {
		return nil
	}
	paths, err := own.paths(ctx, "-deps", "runtime", "internal/race", "sync", "reflect", "syscall")
	if err != nil {
		return err
	}
	for _, path := range append(paths, listed{name: "testing", standard: true}) {
		how, err := own.flagsOf(ctx, path, path.name)
		if err != nil {
			return err
		}
		b.gcflags = append(b.gcflags, compiled{path.name, how})
	}
	return nil
}

// join returns two lists of flags as one.
func join(a, b string) string { return strings.TrimSpace(a + " " + b) }

// perPackage takes a value of -gcflags apart.
func perPackage(value string) (pattern, flags string, err error) {
	value = strings.TrimSpace(value)
	if value == "" || value[0] == '-' {
		return "", value, nil
	}
	pattern, flags, ok := strings.Cut(value, "=")
	if !ok || pattern == "" || strings.ContainsAny(value[:1], `'"`) {
		return "", "", errors.New("want flags, or a pattern, an equals sign and flags")
	}
	return strings.TrimSpace(pattern), flags, nil
}

// literal reports whether a pattern is the import path of one package.
func literal(pattern string) bool {
	return pattern != "" && !strings.HasPrefix(pattern, ".") && !filepath.IsAbs(pattern) && !strings.Contains(pattern, "...")
}

// matcher finds out which of several entries is the last that matches a package.
type matcher struct {
	b        *Builder
	dir      string
	packages []string // that the command line names
	entries  []compiled
	matched  map[string][]string // import paths by pattern
}

// listed is a package as go list describes it.
type listed struct {
	name           string // import path
	standard, main bool   // part of the standard library, of a main module
}

// paths returns the packages that go list names with the given arguments.
func (m *matcher) paths(ctx context.Context, args ...string) (all []listed, err error) {
	args = append([]string{"-e", "-f", "{{.ImportPath}} {{.Standard}} {{with .Module}}{{.Main}}{{end}}"}, args...)
	lines, err := m.b.listLines(ctx, m.dir, args...)
	for _, line := range lines {
		words := strings.Fields(line)
		all = append(all, listed{words[0], slices.Contains(words[1:2], "true"), slices.Contains(words[2:], "true")})
	}
	return all, err
}

// flagsOf returns the flags of the last entry that matches a package, or its external tests, by
// name.
func (m *matcher) flagsOf(ctx context.Context, path listed, name string) (string, error) {
	for _, c := range slices.Backward(m.entries) {
		match := c.pattern == name
		switch c.pattern {
		case "all":
			match = true
		case "std":
			match = path.standard
		case "work":
			match = path.main
		default:
			if literal(c.pattern) {
				break
			}
			known, ok := m.matched[c.pattern]
			if !ok {
				found, err := m.paths(ctx, c.pattern)
				if err != nil {
					return "", err
				}
				for _, f := range found {
					known = append(known, f.name)
				}
				if m.matched == nil {
					m.matched = map[string][]string{}
				}
				m.matched[c.pattern] = known
			}
			match = slices.Contains(known, path.name)
		}
		if match {
			return c.flags, nil
		}
	}
	return "", nil
}
