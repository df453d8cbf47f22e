package cli

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
)

// Flags of the go command in executions under controlled schedules.
var (
	// neutral build flags do not change programs. Schedules need not have them.
	neutral = []string{"a", "p", "x", "work", "mod", "modcacherw", "buildvcs"}
	// measuring flags of go test are about its output. heisen test -predict leaves them out when it
	// runs the tests under controlled schedules.
	measuring = []string{
		"json", "o", "v", "x", "work", "timeout", "cover", "covermode", "coverpkg", "coverprofile", "outputdir",
		"blockprofile", "blockprofilerate", "cpuprofile", "memprofile", "memprofilerate", "mutexprofile",
		"mutexprofilefraction", "trace",
	}
	// instead says which of heisen's flags users may mean.
	instead = map[string]string{
		"json": "; for findings as JSON there is -report json",
		"o":    "; the folder of the schedules is -schedules",
	}
)

// controlledSource returns how the programs of inv.line are built and run under controlled
// schedules, without the flags named. Flags that a schedule cannot repeat are refused.
func (inv *invocation) controlledSource(without ...string) (s controlled.Source, err error) {
	line := &inv.line
	s = controlled.Source{Verb: line.verb, Packages: line.packages(), Patterns: inv.pkgs, Tags: line.tags(), Args: line.program()}
	if len(s.Packages) == 0 {
		s.Packages = []string{"."}
	}
	var tests []string
	for _, p := range line.goFlags(append(without, "tags", "vet")...) {
		_, ofTests := goBinaryFlags[p.name]
		switch {
		case ofTests && s.Verb == "test":
			tests = append(tests, p.String())
		case p.name == "overlay":
			s.Overlay = p.value
		case slices.Contains(neutral, p.name) || p.name == "v":
			s.Flags = append(s.Flags, p.String())
		default:
			return s, misuse("-%s cannot be combined with controlled schedules%s", p.name, instead[p.name])
		}
	}
	if s.Verb == "test" {
		if len(s.Args) > 0 {
			tests = append(append(tests, "-args"), s.Args...)
		}
		if s.Args, err = controlled.TestFlags(tests); err != nil {
			return s, misuse("%v", err)
		}
	}
	return s, nil
}

// buildControlled builds the programs of a source, which giveUp gives up.
func (inv *invocation) buildControlled(ctx context.Context, source *controlled.Source) (programs []*controlled.Program, with *build.Toolchain, giveUp func(), err error) {
	if err := inv.tryInstallation(ctx); err != nil {
		return nil, nil, nil, err
	}
	built := inv.progress("building", time.Second)
	programs, with, giveUp, err = inv.tool.Builds.Build(ctx, source)
	if built(); err == nil {
		inv.standard = filepath.Join(with.Root, "src")
	}
	return programs, with, giveUp, err
}
