package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/build"
)

// programs has the files of the module that the tools work on.
//
//go:embed all:testdata/program
var programs embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sdktools:", err)
		os.Exit(1)
	}
}

// run tries the tools with the given names, or all of them.
func run(ctx context.Context, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(tools, func(t tool) bool { return t.name == name }) {
			return fmt.Errorf("there is no tool %s", name)
		}
	}
	temp, err := os.MkdirTemp("", "sdktools-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	b := &bench{temp: temp}
	b.goroot = filepath.Join(b.root(), "usr", "local", "go")
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var failed []error
	for _, t := range tools {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		if err := t.try(ctx, b); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t.name, err))
			continue
		}
		fmt.Printf("%s: shows the race\n", t.name)
	}
	return errors.Join(failed...)
}

// bench has what the tools work with.
type bench struct {
	temp   string
	goroot string   // made by heisen sdk
	env    []string // of commands that use it
}

// prepare makes the Go installation, and a module with a race.
func (b *bench) prepare(ctx context.Context) error {
	first := filepath.Join(b.temp, "sdk")
	if _, err := build.WriteSDK(ctx, first, "sdktools", true); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(b.goroot), 0o755), os.Rename(first, b.goroot)); err != nil {
		return err
	}
	path := filepath.Join(b.goroot, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
	b.env = append(os.Environ(), "PATH="+path, "GOROOT="+b.goroot, "GOTOOLCHAIN=", "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	files, err := fs.Sub(programs, "testdata/program")
	if err != nil {
		return err
	}
	return errors.Join(os.CopyFS(b.program(), files),
		os.WriteFile(filepath.Join(b.program(), "go.mod"), []byte("module example.com/racy\n\ngo 1.26\n"), 0o666))
}

// root is a folder like the root folder of a container, with the Go installation in it.
func (b *bench) root() string { return filepath.Join(b.temp, "root") }

// program is the folder of the module.
func (b *bench) program() string { return filepath.Join(b.temp, "program") }

// install returns the path of a tool, given by its package and version. It is built by the go command of this process's
// environment.
func (b *bench) install(ctx context.Context, pkg string) (string, error) {
	bin := filepath.Join(b.temp, "bin")
	cmd := exec.CommandContext(ctx, "go", "install", pkg)
	cmd.Dir = b.temp
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s: %w\n%s", pkg, err, out)
	}
	name, _, _ := strings.Cut(pkg, "@")
	return filepath.Join(bin, filepath.Base(name)), nil
}

// output returns what a command in the module prints. Its exit status does not matter: a program with a race fails.
func (b *bench) output(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.program()
	cmd.Env = append(slices.Clip(b.env), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return out, err
}

// wants returns an error unless an output has all texts.
func wants(output []byte, texts ...string) error {
	for _, text := range texts {
		if !bytes.Contains(output, []byte(text)) {
			return fmt.Errorf("it does not print %q:\n%s", text, output)
		}
	}
	return nil
}
