package build

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// ProgramPackage is a package of a program, outside of the standard library.
type ProgramPackage struct {
	Path, Dir string // import path, and folder
	Main      bool   // it belongs to the main module or to one of a workspace, or to no module

	module, version string
}

// ProgramPackages returns the packages that programs are made of, outside of the standard library.
func (b *Builder) ProgramPackages(ctx context.Context, dir string, programs ...string) (all []ProgramPackage, err error) {
	const format = "{{if not .Standard}}{{.ImportPath}}\t{{.Dir}}\t{{if .Module}}{{.Module.Main}}{{else}}true{{end}}\t{{with .Module}}{{.Path}}{{end}}\t{{with .Module}}{{.Version}}{{end}}{{end}}"
	lines, err := b.listLines(ctx, dir, append([]string{"-deps", "-f", format, "--"}, programs...)...)
	for _, line := range lines {
		if f := strings.Split(line, "\t"); len(f) == 5 {
			all = append(all, ProgramPackage{f[0], f[1], f[2] == "true", f[3], f[4]})
		}
	}
	return all, err
}

// Trimmed returns the folder of the package as builds with -trimpath record it.
func (p *ProgramPackage) Trimmed() string {
	if p.module != "" && p.version != "" {
		return p.module + "@" + p.version + strings.TrimPrefix(p.Path, p.module)
	}
	return path.Clean(p.Path)
}

// CheckRecorded returns an error if accesses in one of the packages are not recorded. programs are the packages that the
// command line names.
func (b *Builder) CheckRecorded(ctx context.Context, dir string, programs []string, packages ...ProgramPackage) error {
	m := matcher{b: b, dir: dir, packages: programs, entries: b.gcflags}
	named, err := m.paths(ctx, programs...)
	if err != nil {
		return err
	}
	for _, p := range packages {
		how, err := m.flagsOf(ctx, listed{name: p.Path, main: p.Main}, p.Path)
		if err != nil {
			return err
		}
		for _, n := range named { // an entry without pattern is for these, and is the last for MainModules
			if n.name == p.Path && m.entries[len(m.entries)-1].pattern == "" {
				how = m.entries[len(m.entries)-1].flags
			}
		}
		if !strings.HasPrefix(how, instrument) {
			return fmt.Errorf("accesses in %s are not recorded", p.Path)
		}
	}
	return nil
}
