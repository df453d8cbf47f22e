package controlled

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/recorder"
)

// Program is an instrumented executable and how it is run.
type Program struct {
	Package string // import path, or the files it is made of
	Test    bool   // it runs the tests of the package
	Path    string // the executable
	Dir     string // folder in which it runs; empty for the working folder
	Args    []string
	Usual   Outcome // how it ends under the default schedule, once a survey has seen that

	Surveyed bool   // a survey has seen it
	Seeds    uint64 // added to the seeds of a campaign: others were tried by earlier ones

	importPath string // of the main package, as the executable has it; empty if Test is set

	// Files are the source files of the package and its tests or, of a program, of all packages of the main
	// module.
	Files []string

	// LeftOut are the source files in the main module that the build tag race leaves out of all programs of the build.
	LeftOut []string

	behaviors *seenBehaviors        // of all executions; nil if nobody asks for them
	symbols   *recorder.SymbolCache // of all executions; nil if each has its own
	places    *workplaces           // likewise
	forks     *forks                // nil if each execution has a process that is started for it
	Units     []*Unit               // see Units
	some      bool                  // they are not all tests that the program lists

	Looked    map[recorder.Behavior]bool // what runs have done in which a survey has looked for suspects
	Suspected map[string]bool            // the keys of its suspects
}

// Tested returns the import path of the package whose tests run, or that of the program.
func (p *Program) Tested() string {
	if p.Test {
		return p.Package
	}
	return p.importPath
}

// EndIdle ends the processes that wait for executions. The next execution starts them again.
func (p *Program) EndIdle() {
	if p.forks != nil {
		p.forks.endIdle()
	}
}

// Close gives up what executions share.
func (p *Program) Close() {
	if p.forks != nil {
		p.forks.close()
	}
	p.places.close()
	if p.symbols != nil {
		p.symbols.Close()
	}
}

// Source says how programs are built.
type Source struct {
	Verb     string   // test or run
	Packages []string // as the go command takes them
	Patterns []string // of packages in which accesses are recorded; if empty, build.MainModules
	Tags     []string // racetag.Without may be among them
	Flags    []string // further build flags, which do not change the programs
	Overlay  string   // a file for the go command's -overlay; may be empty
	Args     []string // of the programs; for tests, those of the test binary
	Own      bool     // the packages must belong to the main module
}

// Build compiles the programs into folder, which exists, and returns the toolchain as well. The
// caller closes the programs.
func (s *Source) Build(ctx context.Context, folder string) (programs []*Program, with *build.Toolchain, err error) {
	patterns := s.Patterns
	if len(patterns) == 0 {
		patterns = []string{build.MainModules}
	}
	b, err := build.NewWith(ctx, "", "", s.listFlags(), patterns...)
	if err == nil {
		err = b.Toolchain.Connection()
	}
	if err == nil && s.Overlay != "" {
		err = b.AddOverlay(s.Overlay)
	}
	if err == nil {
		err = b.CheckFolders(ctx, "", s.Packages...)
	}
	if err == nil && s.Own {
		err = s.checkOwn(ctx, b)
	}
	if err != nil {
		return nil, nil, err
	}
	leftOut, err := b.RaceFiles(ctx, "", s.Verb == "test", s.Packages...)
	if err != nil {
		return nil, nil, err
	}
	b.NameLinked(ctx, "", s.Verb == "test", s.Packages...)
	programs, err = s.build(ctx, b, folder)
	places := &workplaces{}
	for _, p := range programs {
		p.LeftOut, p.places = leftOut, places
		if p.symbols, err = recorder.OpenSymbolCache(p.Path); err != nil {
			return nil, nil, err
		}
		p.forks = &forks{vain: map[string]int{}}
	}
	return programs, b.Toolchain, err
}

// listFlags returns the flags that decide which modules and files there are.
func (s *Source) listFlags() []string {
	flags := slices.DeleteFunc(slices.Clone(s.Flags), func(f string) bool { return !strings.HasPrefix(f, "-mod") })
	if s.Overlay != "" {
		flags = append(flags, "-overlay="+s.Overlay)
	}
	return append(flags, s.tagFlags()...)
}

func (s *Source) tagFlags() []string {
	if len(s.Tags) == 0 {
		return nil
	}
	return []string{"-tags=" + strings.Join(s.Tags, ",")}
}

func (s *Source) build(ctx context.Context, b *build.Builder, folder string) ([]*Program, error) {
	flags := slices.Concat(s.Flags, s.tagFlags())
	if s.Verb == "run" {
		path := filepath.Join(folder, b.Toolchain.Executable("program"))
		if err := b.Build(ctx, "", path, flags, s.Packages...); err != nil {
			return nil, err
		}
		if !build.IsProgram(path) {
			return nil, fmt.Errorf("%s is not a main package", s.Packages[0])
		}
		files, err := b.MainFiles(ctx, "", s.Packages...)
		p := &Program{Package: strings.Join(s.Packages, " "), Path: path, Args: s.Args, Files: files, behaviors: &seenBehaviors{}}
		if info, err := buildinfo.ReadFile(path); err == nil {
			p.importPath = info.Path
		}
		return []*Program{p}, err
	}
	packages, err := b.TestPackages(ctx, "", flags, s.Packages...)
	if err != nil {
		return nil, err
	}
	var programs []*Program
	for i, p := range packages {
		path := filepath.Join(folder, b.Toolchain.Executable(strconv.Itoa(i)+".test"))
		if err := b.BuildTest(ctx, "", path, flags, p.Path); err != nil {
			return nil, err
		}
		programs = append(programs, &Program{Package: p.Path, Test: true, Path: path, Dir: p.Dir, Args: s.Args, Files: p.Files, behaviors: &seenBehaviors{}})
	}
	return programs, nil
}
