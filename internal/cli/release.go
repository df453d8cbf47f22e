package cli

import (
	"context"
	"errors"
	"fmt"

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
		fmt.Fprintf(inv.Err, "%s: not tested with %s, but the self-test passes there\n", inv.tool.Name, version)
	}
	return err
}
