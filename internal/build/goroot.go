package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/filename"
	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/internal/recorder"
)

// ErrUnsupported is wrapped by errors about a Go release, platform or GOROOT that heisen cannot
// instrument.
var ErrUnsupported = errors.New("unsupported")

// ErrMismatch is wrapped by errors about a GOROOT whose source is not what the recorder expects, so that it cannot be added. They
// wrap ErrUnsupported, too.
var ErrMismatch = errors.New("the recorder does not fit")

// Releases are the Go releases that heisen is tested with, as "1.N", in order. Later ones are tried, see Toolchain.Tested.
var Releases = []string{"1.26", "1.27"}

// Toolchain is the user's Go installation, as its own go command describes it.
type Toolchain struct {
	Go      string // path of the go command
	Root    string // GOROOT
	Version string // "go1.26.3"
	GOOS    string
	GOARCH  string
	Flags   string // GOFLAGS

	modules string   // GOMODCACHE
	env     []string // what its commands need in their environment besides
}

// FindToolchain asks the go command in dir, whose go.mod may choose a toolchain. It returns an
// error that wraps ErrUnsupported if the overlay does not fit the toolchain.
func FindToolchain(ctx context.Context, dir string) (*Toolchain, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("the go command: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, "env", "-json", "GOROOT", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS", "GOMODCACHE", "GO111MODULE")
	cmd.Dir = dir
	cmd.Env = recorder.Environ(cmd.Environ())
	out, err := cmd.Output()
	if err != nil {
		return nil, commandError("go env", err)
	}
	var env struct{ GOROOT, GOVERSION, GOOS, GOARCH, GOFLAGS, GOMODCACHE, GO111MODULE string }
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	t := &Toolchain{
		Go: path, Root: env.GOROOT, Version: env.GOVERSION,
		GOOS: env.GOOS, GOARCH: env.GOARCH, Flags: env.GOFLAGS, modules: env.GOMODCACHE,
	}
	if env.GO111MODULE == "off" {
		return nil, fmt.Errorf("%w: GO111MODULE is off, and without modules it is not clear which packages are the program's own", ErrUnsupported)
	}
	return t, t.check()
}

// InLibrary reports whether a source file belongs to the standard library or to a dependency: one that
// the go command has downloaded, or that is in a vendor folder.
func (t *Toolchain) InLibrary(file string) bool {
	return t.InStandardLibrary(file) || t.modules != "" && filename.Below(t.modules, file) || strings.Contains(filepath.ToSlash(file), "/vendor/")
}

// InStandardLibrary reports whether a source file belongs to the standard library.
func (t *Toolchain) InStandardLibrary(file string) bool {
	return filename.Below(filepath.Join(t.Root, "src"), file)
}

// nameModules names a module cache, in the private folder dir, to a go command that has none, because neither GOPATH nor
// HOME is set. Without a name, every file is below it to the go command, which accepts no overlay for files there.
func (t *Toolchain) nameModules(dir string) {
	if t.modules == "" {
		t.modules = filepath.Join(dir, "modules")
		t.env = append(t.env, "GOMODCACHE="+t.modules)
	}
}

// leaveModules gives another path, a symbolic link in the private folder dir, to a toolchain that the
// go command has downloaded to its module cache. The go command accepts no overlay for files there.
func (t *Toolchain) leaveModules(dir string) error {
	if rel, err := filepath.Rel(t.modules, t.Root); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	hash := sha256.Sum256([]byte(t.Root))
	link := filepath.Join(dir, t.Version+"-"+hex.EncodeToString(hash[:4]))
	if err := ensureLink(t.Root, link); err != nil {
		return err
	}
	t.Root, t.Go = link, filepath.Join(link, "bin", "go")
	t.env = append(t.env, "GOROOT="+link, "GOTOOLCHAIN=local")
	return nil
}

// ensureLink makes the symbolic link unless it exists and leads to the target.
func ensureLink(target, link string) error {
	if old, err := os.Readlink(link); err == nil && old == target {
		return nil
	}
	next := fmt.Sprintf("%s.%08x.new", link, rand.Uint32())
	err := os.Symlink(target, next)
	if err != nil && runtime.GOOS == "windows" { // where most users may not make one, but a junction
		err = exec.Command("cmd", "/c", "mklink", "/J", next, target).Run()
	}
	if err != nil {
		return err
	}
	defer os.Remove(next)
	return os.Rename(next, link)
}

// command returns a go command that runs in dir. The end of the context also ends everything that the
// command has started.
func (t *Toolchain) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.Go, args...)
	processes.BindGo(cmd)
	cmd.Dir = dir
	cmd.Env = append(recorder.Environ(cmd.Environ()), t.env...)
	return cmd
}

// Tested reports whether heisen was tested with the toolchain's release. Others may be tried; see package selftest.
func (t *Toolchain) Tested() bool { return slices.Contains(Releases, releaseOf(t.Version)) }

func (t *Toolchain) check() error {
	if err := t.checkNoSDK(); err != nil {
		return err
	}
	if !t.Tested() && !newer(t.Version, Releases[0]) {
		return fmt.Errorf("%w Go release %s: heisen instruments programs with Go %s and later",
			ErrUnsupported, t.Version, Releases[0])
	}
	if _, err := t.port(); err != nil {
		return err
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

// commandError adds to err what a command has printed on standard error.
func commandError(what string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%s: %s", what, strings.TrimSpace(string(exit.Stderr)))
	}
	return fmt.Errorf("%s: %w", what, err)
}
