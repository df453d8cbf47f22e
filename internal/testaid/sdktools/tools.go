package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

var tools = []tool{{"delve", delve}, {"gopls", gopls}, {"ko", ko}, {"plugin", plugin}}

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
