package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tool is something that knows -race.
type tool struct {
	name string
	try  func(context.Context, *bench) error
}

var tools = []tool{{"delve", delve}, {"gopls", gopls}, {"ko", ko}, {"plugin", plugin}, {"rules", rules}, {"container", container}}

// report is what heisen, and not another race detector, prints.
var report = []string{"WARNING: DATA RACE", "Found by fasttrack"}

// delve stops in the goroutine that races, looks at the variable, and goes on to the report.
func delve(ctx context.Context, b *bench) error {
	dlv, err := b.install(ctx, "github.com/go-delve/delve/cmd/dlv@v1.27.2")
	if err != nil {
		return err
	}
	commands := filepath.Join(b.temp, "commands")
	if err := os.WriteFile(commands, []byte("break main.count\ncontinue\nprint *n\nclearall\ncontinue\nexit\n"), 0o666); err != nil {
		return err
	}
	out, err := b.output(ctx, nil, dlv, "debug", "--build-flags=-race", "--init", commands, "--allow-non-terminal-interactive=true", ".")
	if err != nil {
		return err
	}
	return wants(out, append(report, "> [Breakpoint 1] main.count()", "\n41\n")...)
}

// gopls runs a test by its command, as editors do.
func gopls(ctx context.Context, b *bench) error {
	server, err := b.install(ctx, "golang.org/x/tools/gopls@v0.23.0")
	if err != nil {
		return err
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(b.program(), "main_test.go"))}
	out, err := b.output(ctx, []string{"GOFLAGS=-race"}, server, "execute", "gopls.run_tests", fmt.Sprintf(`{"URI": %q, "Tests": ["TestRacy"]}`, &file))
	if err != nil {
		return err
	}
	return wants(out, append(report, "(TestRacy)", "1 / 1 tests failed")...)
}

// ko builds an image, of a base without files. The program in it runs.
func ko(ctx context.Context, b *bench) error {
	builder, err := b.install(ctx, "github.com/google/ko@v0.19.1")
	if err != nil {
		return err
	}
	crane, err := b.install(ctx, "github.com/google/go-containerregistry/cmd/crane@v0.22.1")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	registry, err := b.registry(ctx)
	if err != nil {
		return err
	}
	empty := filepath.Join(b.temp, "empty.tar")
	if err := writeEmptyTar(empty); err != nil {
		return err
	}
	base, image := registry+"/x/base", registry+"/x/racy"
	for _, args := range [][]string{{"append", "-f", empty, "-t", base}, {"mutate", "--set-platform", "linux/amd64", base, "-t", base}} {
		if out, err := exec.CommandContext(ctx, crane, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("crane: %w\n%s", err, out)
		}
	}
	built, err := b.output(ctx, []string{"KO_DEFAULTBASEIMAGE=" + base, "KO_DOCKER_REPO=" + image}, builder, "build", "--sbom=none", "--bare", ".")
	if err != nil {
		return err
	}
	files, err := exec.CommandContext(ctx, crane, "export", image+":latest", "-").Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, built)
	}
	program := filepath.Join(b.temp, "from-image")
	if err := extract(files, "ko-app/racy", program); err != nil {
		return err
	}
	out, err := b.output(ctx, nil, program)
	if err != nil {
		return err
	}
	return wants(out, report...)
}

// registry starts a registry of images, and returns its address.
func (b *bench) registry(ctx context.Context) (string, error) {
	path, err := b.install(ctx, "github.com/google/go-containerregistry/cmd/registry@v0.22.1")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path)
	printed, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	lines := bufio.NewScanner(printed)
	for lines.Scan() {
		if _, port, ok := strings.Cut(lines.Text(), "serving on port "); ok {
			go func() {
				io.Copy(io.Discard, printed)
				cmd.Wait()
			}()
			return "localhost:" + port, nil
		}
	}
	return "", errors.Join(errors.New("the registry does not say its port"), lines.Err())
}

func writeEmptyTar(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(tar.NewWriter(f).Close(), f.Close())
}

// extract writes a file of an archive, as an executable.
func extract(archive []byte, name, to string) error {
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if strings.TrimPrefix(h.Name, "/") == name {
			text, err := io.ReadAll(r)
			return errors.Join(err, os.WriteFile(to, text, 0o777))
		}
	}
}

// plugin loads a plugin, whose functions race.
func plugin(ctx context.Context, b *bench) error {
	env := []string{"CGO_ENABLED=1"}
	goCommand := filepath.Join(b.goroot, "bin", "go")
	for _, args := range [][]string{
		{"build", "-race", "-buildmode=plugin", "-o", "plugged.so", "./plugged"},
		{"build", "-race", "-o", "loads", "./plugs"},
	} {
		if out, err := b.output(ctx, env, goCommand, args...); err != nil || len(out) > 0 {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	out, err := b.output(ctx, nil, filepath.Join(b.program(), "loads"), "plugged.so")
	if err != nil {
		return err
	}
	return wants(out, report...)
}

// rules does what the rules of Bazel for Go do: packages of the standard library are compiled into a copy of the Go
// installation, without what the go command itself needs, and the compiler and the linker work with these.
func rules(ctx context.Context, b *bench) error {
	root := filepath.Join(b.temp, "rules")
	for _, name := range []string{"src", filepath.Join("pkg", "tool"), filepath.Join("pkg", "include")} {
		to := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.Symlink(filepath.Join(b.goroot, name), to)); err != nil {
			return err
		}
	}
	env := []string{"GOROOT=" + root, "GODEBUG=installgoroot=all", "CGO_ENABLED=1"}
	goCommand := filepath.Join(b.goroot, "bin", "go")
	if out, err := b.output(ctx, env, goCommand, "install", "-race", "-trimpath", "std"); err != nil || len(out) > 0 {
		return fmt.Errorf("go install: %w\n%s", err, out)
	}
	compiled, err := filepath.Glob(filepath.Join(root, "pkg", "*_race"))
	if err != nil || len(compiled) != 1 {
		return fmt.Errorf("compiled packages are in %q: %w", compiled, err)
	}
	config, program, exe := filepath.Join(b.temp, "importcfg"), filepath.Join(b.temp, "main.a"), filepath.Join(b.temp, "by-rules")
	if err := writeImports(config, compiled[0]); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"compile", "-race", "-p", "main", "-importcfg", config, "-pack", "-o", program, "main.go"},
		{"link", "-race", "-importcfg", config, "-o", exe, program},
	} {
		if out, err := b.output(ctx, env, goCommand, append([]string{"tool"}, args...)...); err != nil || len(out) > 0 {
			return fmt.Errorf("%s: %w\n%s", args[0], err, out)
		}
	}
	out, err := b.output(ctx, nil, exe)
	if err != nil {
		return err
	}
	return wants(out, report...)
}

// writeImports writes where the compiler and the linker find the packages that are compiled into a folder.
func writeImports(name, compiled string) error {
	var lines bytes.Buffer
	err := filepath.WalkDir(compiled, func(file string, _ fs.DirEntry, err error) error {
		if pkg, ok := strings.CutSuffix(strings.TrimPrefix(file, compiled+string(filepath.Separator)), ".a"); ok {
			fmt.Fprintf(&lines, "packagefile %s=%s\n", filepath.ToSlash(pkg), file)
		}
		return err
	})
	return errors.Join(err, os.WriteFile(name, lines.Bytes(), 0o666))
}

// container uses the Go installation in a root folder that has nothing else, where images of containers have it, as a user who
// may write only at home. It needs root.
func container(ctx context.Context, b *bench) error {
	const user = 65534
	home := filepath.Join(b.root(), "home")
	err := errors.Join(os.CopyFS(filepath.Join(b.root(), "app"), os.DirFS(b.program())), os.Mkdir(home, 0o700), os.Chown(home, user, user),
		os.Mkdir(filepath.Join(b.root(), "dev"), 0o755), os.WriteFile(filepath.Join(b.root(), os.DevNull), nil, 0o444))
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"run", "-race", "."}, {"test", "-race", "."}} {
		cmd := exec.CommandContext(ctx, "chroot", append([]string{
			fmt.Sprintf("--userspec=%d:%d", user, user), b.root(), "/usr/local/go/bin/go", args[0], "-C=/app"}, args[1:]...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GOROOT=/usr/local/go", "HOME=/home", "TMPDIR=/home"}
		out, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			return err
		}
		if err := wants(out, report...); err != nil {
			return fmt.Errorf("go %s: %w", args[0], err)
		}
	}
	return nil
}
