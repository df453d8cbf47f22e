package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/heisen-go/heisen/internal/private"
)

// A program that was built by an older release than the one that a module needs cannot read the module's source: its
// copies of go/parser and go/types do not know what is new in the language. So it builds itself again, with the Go
// release of the module, and the new program takes its place.

// AgeError says that a command was built by an older Go release than a module needs, and could not be built again.
type AgeError struct {
	Built, Needed string // releases, such as "go1.26.8"
	Command       string // builds it with the one that is needed
	Err           error
}

// Error says what to type.
func (e *AgeError) Error() string {
	return fmt.Sprintf("this module needs %s, and this command was built with %s; build it again: %s (%v)", e.Needed, e.Built, e.Command, e.Err)
}

func (e *AgeError) Unwrap() error { return e.Err }

// Rebuilt returns the path of a program that is this one, built by the Go release that the go command uses in the
// folder dir, or "" if this one need not be built again. The program is kept in the cache. An error is an *AgeError. If
// there is no go command, or it does not work in dir, nothing is built.
// progress is called before it builds.
func Rebuilt(ctx context.Context, dir string, progress func(needed string)) (string, error) {
	env, err := goEnv(ctx, dir)
	if err != nil || !newer(env.GOVERSION, runtime.Version()) {
		return "", nil
	}
	self, ok := debug.ReadBuildInfo()
	if !ok || strings.HasSuffix(self.Path, ".test") {
		return "", nil
	}
	r := &rebuild{dir: dir, needed: env.GOVERSION, path: self.Path, module: self.Main.Path, version: self.Main.Version}
	path, err := r.build(ctx, func() { progress(r.needed) })
	if err != nil {
		return "", &AgeError{Built: runtime.Version(), Needed: r.needed, Command: r.command(), Err: err}
	}
	return path, nil
}

func goEnv(ctx context.Context, dir string) (env struct{ GOVERSION string }, err error) {
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOVERSION")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &env)
	}
	return env, err
}

// newer reports whether a Go release, such as go1.27.4, is of a later minor number than another one.
func newer(a, b string) bool {
	x, ok := minorOf(a)
	y, known := minorOf(b)
	return ok && known && x > y
}

func minorOf(version string) (int, bool) {
	major, minor, _ := strings.Cut(releaseOf(version), ".")
	n, err := strconv.Atoi(minor)
	return n, major == "1" && err == nil
}

// rebuild builds this program again.
type rebuild struct {
	dir     string // of the module that needs it
	needed  string // the Go release
	path    string // the main package
	module  string // the main module, which may be one that has this program as a tool
	version string // of the main module
}

// build returns the path of the new program.
func (r *rebuild) build(ctx context.Context, progress func()) (string, error) {
	cache, err := private.Cache("heisen")
	if err != nil {
		return "", err
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(exe)
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %s", exe, info.Size(), info.ModTime().UnixNano(), r.needed))
	kept := filepath.Join(cache, executable(runtime.GOOS, "rebuilt-"+hex.EncodeToString(key[:8])))
	if info, err := os.Stat(kept); err == nil && info.Mode().IsRegular() {
		private.Use(kept)
		return kept, nil
	}
	removeUnused(cache)
	progress()
	scratch, err := os.MkdirTemp(cache, "rebuild-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := r.goCommand(ctx, scratch); err != nil {
		return "", err
	}
	return kept, os.Rename(filepath.Join(scratch, executable(runtime.GOOS, filepath.Base(r.path))), kept)
}

// goCommand builds the program into the folder to: from the source of the main module if that is here, from a
// published version, or as a package that the module in dir knows.
func (r *rebuild) goCommand(ctx context.Context, to string) error {
	args, dir := []string{"build", "-o", to + string(filepath.Separator), r.path}, r.dir
	if root := r.root(); root != "" {
		dir = root
	} else if r.published() {
		args = []string{"install", r.path + "@" + r.version}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOTOOLCHAIN="+toolchainOf(r.needed), "GOBIN="+to, "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, lines[len(lines)-1])
	}
	return nil
}

// toolchainOf returns the value of GOTOOLCHAIN for a version of the go command. Those in development have no name by which the
// go command could choose them; then the one that is installed is meant.
func toolchainOf(version string) string {
	version, _, _ = strings.Cut(version, " ") // experiments
	if strings.Contains(version, "devel") {
		return "local"
	}
	return version
}

// published reports whether the main module has a version that the go command can get.
func (r *rebuild) published() bool {
	return strings.HasPrefix(r.version, "v") && !strings.Contains(r.version, "+")
}

// root returns the folder with the source of the main module that this file is from, or "". Others must not be
// able to change it.
func (r *rebuild) root() string {
	_, file, _, ok := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file))) // below it, this file is internal/build/rebuild.go
	if !ok || !filepath.IsAbs(file) || private.Trust(root) != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || modfile.ModulePath(text) != r.module {
		return ""
	}
	return root
}

// command is what a user can type.
func (r *rebuild) command() string {
	switch root := r.root(); {
	case root != "":
		return fmt.Sprintf("cd %s && GOTOOLCHAIN=%s go install %s", root, toolchainOf(r.needed), r.path)
	case r.published():
		return fmt.Sprintf("GOTOOLCHAIN=%s go install %s@%s", toolchainOf(r.needed), r.path, r.version)
	}
	return fmt.Sprintf("GOTOOLCHAIN=%s go install %s@latest", toolchainOf(r.needed), r.path)
}
