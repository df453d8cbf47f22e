package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/heisen-go/heisen/internal/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "verdicts: %v\n", err)
		os.Exit(1)
	}
}

// command parses the flags, and lists or runs cells.
func command(ctx context.Context, w io.Writer, args []string) error {
	flags := flag.NewFlagSet("verdicts", flag.ContinueOnError)
	run := flags.String("run", "", "run the cells whose names match `regexp`")
	missing := flags.Bool("missing", false, "only those without a result")
	toolchains := flags.String("toolchains", "local,go1.27.4", "comma-separated `list` of values of GOTOOLCHAIN, one for each release")
	verbose := flags.Bool("v", false, "print what the suites print")
	file := flags.String("file", "docs/design/platforms.md", "the `document` that has the table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	document, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	results, err := parse(string(document))
	if err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	with, err := toolchainsOf(ctx, strings.Split(*toolchains, ","))
	if err != nil {
		return err
	}
	var failed error
	for _, c := range cells(with) {
		name := c.name()
		switch {
		case *run == "":
			fmt.Fprintf(w, "%s: %s\n", name, results.cell(name))
			continue
		case !chosen.MatchString(name) || *missing && results[name] != "":
			continue
		}
		start := time.Now()
		output := io.Discard
		if *verbose {
			output = w
		}
		result, err := c.suite.run(ctx, c.port, with[c.release], output)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
			fmt.Fprintf(w, "%s: %v\n", name, err)
			continue
		}
		fmt.Fprintf(w, "%s: %s (%s)\n", name, result, time.Since(start).Round(time.Second))
		results[name] = result
		if err := results.write(*file); err != nil {
			return err
		}
	}
	return failed
}

// cell returns what stands in a cell.
func (t table) cell(name string) string {
	if t[name] == "" {
		return none
	}
	return t[name]
}

// write replaces the table in a file, which may have been changed meanwhile.
func (t table) write(file string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := t.replace(string(document), build.Releases)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// oneCell is a cell that can be run.
type oneCell struct {
	port    port
	release string
	suite   *suite
}

func (c oneCell) name() string { return cellName(c.port.name, c.release, c.suite.name) }

// cells lists the cells that can be run with toolchains, by release, in the order of the table.
func cells(with map[string]string) (all []oneCell) {
	for _, p := range ports {
		for _, release := range build.Releases {
			for i := range suites {
				if with[release] != "" && slices.Contains(suites[i].ports, p.name) {
					all = append(all, oneCell{p, release, &suites[i]})
				}
			}
		}
	}
	return all
}

// toolchainsOf returns toolchains by their releases.
func toolchainsOf(ctx context.Context, names []string) (map[string]string, error) {
	with := map[string]string{}
	for _, name := range names {
		cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+name)
		version, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("toolchain %s: %w", name, err)
		}
		at := slices.IndexFunc(build.Releases, func(r string) bool { return strings.HasPrefix(string(version), "go"+r+".") })
		if at < 0 {
			return nil, fmt.Errorf("toolchain %s is of the unsupported release %s", name, version)
		}
		with[build.Releases[at]] = name
	}
	return with, nil
}
