package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/selftest"
)

// unaffected says what works without a Go installation that can be instrumented.
const unaffected = "analyze, trace, view, infer, vet, and heal with a report work nevertheless"

// tryInstallation is tryRelease for the Go installation that the go command uses here.
func (inv *invocation) tryInstallation(ctx context.Context) error {
	t, err := build.FindToolchain(ctx, "")
	if err != nil || t.Tested() {
		return err
	}
	b, err := build.New(ctx, "", "")
	return inv.tryRelease(ctx, b, err)
}

// tryRelease returns an error if heisen was not tested with the Go release of a builder, and cannot instrument programs with
// it. err is that of making the builder.
func (inv *invocation) tryRelease(ctx context.Context, b *build.Builder, err error) error {
	if errors.Is(err, build.ErrMismatch) {
		return fmt.Errorf("%w; %s", err, unaffected)
	}
	if err != nil || b.Toolchain.Tested() {
		return err
	}
	version := b.Toolchain.Version
	err = selftest.Ensure(ctx, b, func() {
		fmt.Fprintf(inv.Err, "%s: trying %s, which is not tested: this takes some minutes, once\n", inv.tool.Name, version)
	})
	if failed := (*selftest.Error)(nil); errors.As(err, &failed) {
		return fmt.Errorf("%w\n%s", err, unaffected)
	}
	if err == nil {
		fmt.Fprintf(inv.Err, "%s: %s\n", inv.tool.Name, untestedRelease(b.Toolchain))
	}
	return err
}

// untestedRelease returns a line about a Go release that heisen was not tested with, but tried on this machine. It also says
// if it builds for a port on which no release was tested.
func untestedRelease(t *build.Toolchain) string {
	if t.Untested() == "" {
		return fmt.Sprintf("not tested with %s, but the self-test passes there", t.Version)
	}
	tried := "the self-test passes"
	if !selftest.Whole() {
		tried = "what can run of the self-test passes"
	}
	return fmt.Sprintf("not tested with %s, and programs for %s/%s were only linked; %s on %s/%s",
		t.Version, t.GOOS, t.GOARCH, tried, runtime.GOOS, runtime.GOARCH)
}
