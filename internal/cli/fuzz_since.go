package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/changed"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// chooseSince keeps, of the packages of a source, those with tests that can reach what has changed since the revision of -since, and
// chooses these tests. It says which changes concern all tests of a package.
func (f *fuzzRun) chooseSince(ctx context.Context, source *controlled.Source) error {
	done := f.progress("looking for what has changed", time.Second)
	tests, err := changed.Since(ctx, f.since, ssaload.Source{Packages: source.Packages, Tags: source.Tags})
	done()
	if errors.Is(err, changed.ErrRevision) {
		return fmt.Errorf("-since: %w", err)
	}
	if err != nil {
		return err
	}
	for _, cause := range tests.Causes {
		f.Say("all tests that have it: " + cause.String())
	}
	selected, of := tests.Count()
	f.Say(fmt.Sprintf("since %.12s: %d of %s in %d of %s with tests can reach what has changed",
		tests.Commit, selected, plural.Of(of, "test"), len(tests.Packages), plural.Of(tests.Of, "package")))
	files := slices.ContainsFunc(source.Packages, func(name string) bool { return strings.HasSuffix(name, ".go") })
	if len(tests.Packages) == 0 || !files { // a package that is given by its files has no other name
		source.Packages = tests.Names()
	}
	f.config.Chosen = tests.Has
	return nil
}
