package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/heisen-go/heisen/bench/download"
	"github.com/heisen-go/heisen/internal/build"
)

// unused is a package that no benchmark uses. If accesses are recorded in it alone, none are.
const unused = "index/suffixarray"

// runner builds and runs benchmarks below a folder.
type runner struct {
	dir     string
	profile string
	scale   float64
}

// source returns the folder of a module.
func (r *runner) source(b benchmark) string {
	return filepath.Join(r.dir, strings.ReplaceAll(cmp.Or(b.module, "library"), "/", "_"))
}

// program returns the path of the test program of a benchmark's package.
func (r *runner) program(b benchmark, kind string) string {
	return filepath.Join(r.dir, strings.ReplaceAll(cmp.Or(b.module, "library")+"/"+b.pkg, "/", "_")+"."+kind)
}

// build fetches the module and compiles the programs that do not exist yet.
func (r *runner) build(ctx context.Context, b benchmark, configurations []configuration) error {
	if _, err := os.Stat(r.source(b)); err != nil {
		if err := r.fetch(ctx, b); err != nil {
			return err
		}
	}
	dir := filepath.Join(r.source(b), filepath.FromSlash(b.pkg))
	for _, w := range configurations {
		output := r.program(b, w.program)
		if _, err := os.Stat(output); err == nil {
			continue
		}
		args := []string{"-c", "-mod=mod", "-vet=off", "-o", output, "."}
		var cmd *exec.Cmd
		switch w.program {
		case "plain":
			cmd = exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
		case "race":
			cmd = exec.CommandContext(ctx, "go", append([]string{"test", "-race"}, args...)...)
		case "heisen", "order":
			var packages []string // all
			if w.program == "order" {
				packages = []string{unused}
			}
			builder, err := build.New(ctx, dir, "", packages...)
			if err != nil {
				return err
			}
			cmd = builder.Command(ctx, "test", args...)
		case "focused":
			heisen, plan, err := r.plan(ctx, b)
			if err != nil {
				return err
			}
			cmd = exec.CommandContext(ctx, heisen, append([]string{"test", "-focus", plan}, args...)...)
		}
		cmd.Dir = dir
		if _, err := outputOf(cmd); err != nil {
			return fmt.Errorf("building %s: %w", w.program, err)
		}
	}
	return nil
}

// plan returns the heisen command and a plan for a module. It makes what does not exist yet.
func (r *runner) plan(ctx context.Context, b benchmark) (heisen, plan string, err error) {
	heisen, plan = filepath.Join(r.dir, "heisen"), r.source(b)+".plan"
	if _, err := os.Stat(heisen); err != nil {
		if _, err := outputOf(exec.CommandContext(ctx, "go", "build", "-o", heisen, "github.com/heisen-go/heisen/cmd/heisen")); err != nil {
			return "", "", fmt.Errorf("building heisen: %w", err)
		}
	}
	if _, err := os.Stat(plan); err != nil {
		cmd := exec.CommandContext(ctx, heisen, "infer", "-plan", plan, "./...")
		cmd.Dir, cmd.Env = r.source(b), append(cmd.Environ(), "GOFLAGS=-mod=mod")
		if _, err := outputOf(cmd); err != nil {
			return "", "", fmt.Errorf("making a plan: %w", err)
		}
	}
	return heisen, plan, nil
}

// fetch copies the module from the module cache to a folder where the go command can complete
// go.sum, and applies the changes.
func (r *runner) fetch(ctx context.Context, b benchmark) error {
	if b.module == "" {
		return r.copyLibrary(ctx)
	}
	to := r.source(b)
	err := download.Module(ctx, b.module+"@"+b.version, to)
	if c, ok := changes[b.module]; ok && err == nil {
		return c.make(to)
	}
	return err
}

// copyLibrary copies the folder library of this command.
func (r *runner) copyLibrary(ctx context.Context) error {
	out, err := outputOf(exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/heisen-go/heisen/bench/overhead"))
	if err != nil {
		return err
	}
	return os.CopyFS(r.source(benchmark{}), os.DirFS(filepath.Join(strings.TrimSpace(string(out)), "library")))
}

// make applies the change to the module in dir.
func (c change) make(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(c.file))
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte(c.from)); n != 1 {
		return fmt.Errorf("%s has %q %d times, not once", c.file, c.from, n)
	}
	return os.WriteFile(path, bytes.Replace(text, []byte(c.from), []byte(c.to), 1), 0o755)
}

// outputOf runs a command and returns its standard output. The error contains the standard error.
func outputOf(cmd *exec.Cmd) ([]byte, error) {
	var printed bytes.Buffer
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, printed.Bytes())
	}
	return out, nil
}

// removeAll removes a folder.
func removeAll(dir string) { os.RemoveAll(dir) }
