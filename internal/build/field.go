package build

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/heisen-go/heisen/internal/sampler"
)

// fieldTag is the tag of these builds. Package field has files with it.
const fieldTag = "heisenfield"

// fieldPorts are the ports on which a program can be sampled.
var fieldPorts = map[string]bool{"linux/amd64": true}

// NewField prepares builds of plain programs with the sampler of package sampler in their runtime. Nothing is
// instrumented. dir, cacheDir and flags are as for NewWith. The error wraps ErrUnsupported if the port or the Go
// installation is not supported.
func NewField(ctx context.Context, dir, cacheDir string, flags []string) (*Builder, error) {
	b, cacheDir, err := newBuilder(ctx, dir, cacheDir, flags, true)
	if err != nil {
		return nil, err
	}
	t := b.Toolchain
	if port := t.GOOS + "/" + t.GOARCH; !fieldPorts[port] {
		return nil, fmt.Errorf("%w: -field is for linux/amd64, not for %s", ErrUnsupported, port)
	}
	o, err := fieldOverlay(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", t.Version, ErrMismatch, err)
	}
	if b.overlay, err = o.write(cacheDir, t.Root); err != nil {
		return nil, fmt.Errorf("overlay: %w", err)
	}
	return b, nil
}

// fieldPatches are the calls of the sampler in the runtime.
var fieldPatches = []patchedFile{
	{"runtime/proc.go", []patch{
		replaceCalls("main", "gcenable()", "heisenGCEnable()", 1),
		atStart("runExitHooks", "heisenFlush()"),
	}},
	{"runtime/preempt.go", []patch{
		replaceCalls("asyncPreempt2", "xRegSave(gp)", "heisenSaved(gp)", 1),
		replaceCalls("asyncPreempt2", "gopreempt_m(gp)", "heisenPreempted(gp)", 1),
	}},
}

// fieldOverlay makes the overlay of programs with the sampler.
func fieldOverlay(t *Toolchain) (overlay, error) {
	o := overlay{}
	src := filepath.Join(t.Root, "src")
	injected, err := sampler.Sources(syscallPackage(src))
	if err != nil {
		return nil, err
	}
	for name, text := range injected {
		o["runtime/heisen_"+name] = text
	}
	return o, o.patch(fieldPatches, sourceReader(src))
}
