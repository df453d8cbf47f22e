package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/section"
)

// healingFlag returns the flag of the linker that builds into a program what it keeps apart. ctx and b are those of the
// build.
func (o *atomraceFlags) healingFlag(ctx context.Context, inv *invocation, b *build.Builder) (string, error) {
	packages, err := b.ProgramPackages(ctx, "", inv.line.packages()...)
	if err != nil {
		return "", err
	}
	source := infer.Source{Tags: inv.line.tags()}
	for _, p := range packages {
		if p.Main && !slices.Contains(source.Packages, p.Dir) {
			source.Packages = append(source.Packages, p.Dir)
		}
	}
	places, sections, err := o.builtIn(inv, source)
	if err != nil {
		return "", err
	}
	if err := checkRecorded(ctx, inv, b, packages, places); err != nil {
		return "", err
	}
	if trims(inv, b) {
		places, sections = trimmed(packages, places, sections)
	}
	flags, err := (&recorder.Live{Sections: sections, Heal: places}).LinkerFlags()
	if err != nil {
		return "", fmt.Errorf("%s: %w", o.heal, err)
	}
	return flags, nil
}

// builtIn returns the places to heal in a program, and the sections there.
func (o *atomraceFlags) builtIn(inv *invocation, source infer.Source) ([]section.Location, []section.Section, error) {
	switch {
	case o.sections == noSections:
	case o.sections != "":
		if err := o.readSections(); err != nil {
			return nil, nil, err
		}
	case !isSectionsFile(o.heal):
		if err := o.inferIn(inv, source); err != nil {
			return nil, nil, err
		}
	}
	places, sections, err := o.healed(inv, source)
	if err == nil && len(places) == 0 {
		err = fmt.Errorf("%s: nothing there can be healed", o.heal)
	}
	return places, sections, err
}

// checkRecorded returns an error if accesses at one of the places are not recorded, because of -pkgs.
func checkRecorded(ctx context.Context, inv *invocation, b *build.Builder, packages []build.ProgramPackage, places []section.Location) error {
	if len(inv.pkgs) == 0 {
		return nil
	}
	var concerned []build.ProgramPackage
	for _, p := range packages {
		if slices.ContainsFunc(places, func(at section.Location) bool { return path.Dir(at.File) == filepath.ToSlash(p.Dir) }) {
			concerned = append(concerned, p)
		}
	}
	if err := b.CheckRecorded(ctx, "", inv.line.packages(), concerned...); err != nil {
		return misuse("-pkgs %s leaves out a package to heal: %v", inv.pkgs.String(), err)
	}
	return nil
}

// trims reports whether the build trims the names of source files.
func trims(inv *invocation, b *build.Builder) bool {
	if _, given := inv.line.value("trimpath"); given {
		return inv.line.isTrue("trimpath")
	}
	value, _ := inGOFLAGS(b.Toolchain.Flags, "trimpath")
	return value == "true" || value == "1"
}

// trimmed returns places and sections with the names of files as builds with -trimpath record them.
func trimmed(packages []build.ProgramPackage, places []section.Location, sections []section.Section) ([]section.Location, []section.Section) {
	folders := map[string]string{}
	for _, p := range packages {
		folders[filepath.ToSlash(p.Dir)] = p.Trimmed()
	}
	at := func(l section.Location) section.Location {
		if folder, ok := folders[path.Dir(l.File)]; ok {
			l.File = path.Join(folder, path.Base(l.File))
		}
		return l
	}
	places, sections = slices.Clone(places), slices.Clone(sections)
	for i := range places {
		places[i] = at(places[i])
	}
	for i := range sections {
		s := &sections[i]
		s.Entry, s.Ends = at(s.Entry), slices.Clone(s.Ends)
		for j := range s.Ends {
			s.Ends[j].At = at(s.Ends[j].At)
		}
	}
	return places, sections
}
