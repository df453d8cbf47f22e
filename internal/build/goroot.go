package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// ErrUnsupported is the cause of every refusal to instrument: a Go release,
// platform or GOROOT that the recorder was not made for.
var ErrUnsupported = errors.New("unsupported")

// Releases are the Go releases whose runtime the overlay fits, as "1.N".
var Releases = []string{"1.25", "1.26"}

// Platforms are the GOOS/GOARCH pairs that the recorder runs on.
var Platforms = []string{"linux/amd64", "linux/arm64"}

// Toolchain is the user's Go installation, as its own go command describes it.
type Toolchain struct {
	Go      string // path of the go command
	Root    string // GOROOT
	Version string // "go1.26.3"
	GOOS    string
	GOARCH  string
	Flags   string // GOFLAGS
}

// FindToolchain asks the go command in dir (its go.mod may choose a toolchain)
// and refuses what the overlay does not fit, with an error that wraps
// ErrUnsupported.
func FindToolchain(ctx context.Context, dir string) (*Toolchain, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("the go command: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, "env", "-json", "GOROOT", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, commandError("go env", err)
	}
	var env struct{ GOROOT, GOVERSION, GOOS, GOARCH, GOFLAGS string }
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	t := &Toolchain{path, env.GOROOT, env.GOVERSION, env.GOOS, env.GOARCH, env.GOFLAGS}
	return t, t.check()
}

func (t *Toolchain) check() error {
	if release := releaseOf(t.Version); !slices.Contains(Releases, release) {
		return fmt.Errorf("%w Go release %s: heisen instruments programs with Go %s",
			ErrUnsupported, t.Version, strings.Join(Releases, " and "))
	}
	if platform := t.GOOS + "/" + t.GOARCH; !slices.Contains(Platforms, platform) {
		return fmt.Errorf("%w platform %s: heisen instruments programs for %s",
			ErrUnsupported, platform, strings.Join(Platforms, " and "))
	}
	for _, flag := range strings.Fields(t.Flags) {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, `-'"`), "=") // the list may have quotes
		if slices.Contains([]string{"race", "msan", "asan", "overlay", "gcflags"}, name) {
			return fmt.Errorf("%w: GOFLAGS contains %s, which heisen sets or excludes itself", ErrUnsupported, flag)
		}
	}
	return nil
}

// releaseOf cuts "go1.26.3" or "go1.26rc1" down to "1.26".
func releaseOf(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "go"), ".")
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	return major + "." + rest[:end]
}

// commandError adds what a command said on standard error to the error that
// running it gave.
func commandError(what string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%s: %s", what, strings.TrimSpace(string(exit.Stderr)))
	}
	return fmt.Errorf("%s: %w", what, err)
}
