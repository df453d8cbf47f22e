package controlled

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/racefuzz"
)

// A schedule may come from anybody. It may name a program of the user's own, and arguments of that,
// but no flags of the go command, no code elsewhere, and no flags with which a test writes files.

// checkSchedule returns an error if a schedule asks for more.
func checkSchedule(s *racefuzz.Schedule) error {
	name := s.Program
	switch {
	case s.Command != "test" && s.Command != "run":
		return fmt.Errorf("%q is neither test nor run", s.Command)
	case name == "":
		return errors.New("the schedule names no program")
	case strings.HasPrefix(name, "-"):
		return fmt.Errorf("the program of the schedule is a flag: %q", name)
	case strings.HasSuffix(name, ".go") && !filepath.IsLocal(filepath.FromSlash(name)):
		return fmt.Errorf("the program of the schedule is not in this folder: %q", name)
	}
	if s.Command == "run" {
		return nil
	}
	for _, arg := range s.Args {
		flag, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "test.")
		if !ok || !strings.HasPrefix(arg, "-") {
			continue
		}
		flag, _, _ = strings.Cut(flag, "=")
		if !slices.Contains(boolFlags, flag) && !slices.Contains(valueFlags, flag) && !slices.Contains(ownTestFlags, flag) {
			return fmt.Errorf("the schedule has a flag that heisen does not use: %q", arg)
		}
	}
	return nil
}

// ownTestFlags are the flags of test binaries that testArgs adds.
var ownTestFlags = []string{"paniconexit0", "timeout"}

// checkOwn returns an error unless all packages belong to the main module, or are files.
func (s *Source) checkOwn(ctx context.Context, b *build.Builder) error {
	for _, name := range s.Packages {
		if strings.HasSuffix(name, ".go") {
			continue
		}
		own, err := b.InMainModule(ctx, "", name)
		if err != nil {
			return err
		}
		if !own {
			return fmt.Errorf("%s is not a package of the main module", name)
		}
	}
	return nil
}
