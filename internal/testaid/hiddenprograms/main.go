package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/report"
)

// asCommand is an environment variable that makes the program act as the heisen command.
const asCommand = "HIDDENPROGRAMS_COMMAND"

func main() {
	if byGo := len(os.Args) > 1 && os.Args[1] == "-toolexec"; os.Getenv(asCommand) != "" || byGo {
		os.Unsetenv(asCommand)
		os.Exit(driver.Main())
	}
	s := settings{command: asCommand}
	flag.IntVar(&s.modules, "n", 1, "random `modules`")
	flag.IntVar(&s.tests, "tests", 40, "tests of each")
	flag.Uint64Var(&s.seed, "seed", 1, "`number` of the first")
	flag.StringVar(&s.keep, "keep", "", "keep the modules in this `folder`")
	flag.Parse()
	r, err := s.run(context.Background())
	if r != nil {
		fmt.Println(r)
	}
	if err == nil && len(r.wrong) > 0 {
		err = errors.New(strings.Join(r.wrong, "\n"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hiddenprograms:", err)
		os.Exit(1)
	}
}

type settings struct {
	modules, tests int
	seed           uint64
	keep           string
	command        string // the environment variable that makes this program the heisen command
}

// runs are the command lines. The first one records everything; the others hide the package.
var runs = []struct {
	name      string
	flags     []string
	detectors int
}{
	{"everything", []string{"-detect", "fasttrack,hb,mcm"}, 3},
	{"-hide, in the program", []string{"-hide", "./box"}, 1},
	{"-hide", []string{"-detect", "fasttrack,hb,mcm", "-hide", "./box"}, 3},
	{"-hide.once", []string{"-detect", "hb,mcm", "-hide", "./box", "-hide.once"}, 2},
}

// result counts, for each of runs, the racing variables that were found, by detector.
type result struct {
	tests, triples int
	racing         int
	found          []map[string]int
	wrong          []string
}

func (r *result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tests, %d triples of test, options and detector, %d racing variables", r.tests, r.triples, r.racing)
	for i, run := range runs {
		fmt.Fprintf(&b, "\n%s: %v", run.name, r.found[i])
	}
	return b.String()
}

// run makes the modules and runs their tests.
func (s settings) run(ctx context.Context) (*result, error) {
	r := &result{}
	for range runs {
		r.found = append(r.found, map[string]int{})
	}
	for n := range s.modules {
		if err := s.module(ctx, s.seed+uint64(n), r); err != nil {
			return r, fmt.Errorf("seed %d: %w", s.seed+uint64(n), err)
		}
	}
	return r, nil
}

func (s settings) module(ctx context.Context, seed uint64, r *result) error {
	folder, err := os.MkdirTemp(s.keep, fmt.Sprintf("hidden%d-", seed))
	if err != nil {
		return err
	}
	if s.keep == "" {
		defer os.RemoveAll(folder)
	}
	files := generate(seed, s.tests)
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			return err
		}
	}
	r.tests += s.tests
	r.racing += len(regexp.MustCompile(`(?m)^\tracy\d+ int$`).FindAllString(files["client/client_test.go"], -1))
	for i, run := range runs {
		findings, err := s.heisen(ctx, folder, append([]string{"test", "-report", "json"}, append(run.flags, "./client")...)...)
		if err != nil {
			return fmt.Errorf("%s: %w", run.name, err)
		}
		r.triples += s.tests * run.detectors
		seen := map[string]bool{}
		for _, f := range findings {
			v := variable.FindString(f.Variable)
			for _, by := range append([]string{f.Detector}, f.Detectors...) {
				if !strings.HasPrefix(v, "racy") {
					r.wrong = append(r.wrong, fmt.Sprintf("seed %d, %s: %s reports %s", seed, run.name, by, f.String()))
				} else if !seen[by+v] {
					seen[by+v] = true
					r.found[i][by]++
				}
			}
		}
	}
	return nil
}

var variable = regexp.MustCompile(`(racy|clean)\d+`)

// heisen runs the command and returns its findings.
func (s settings) heisen(ctx context.Context, folder string, args ...string) ([]report.Finding, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), s.command+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !bytes.Contains(stdout.Bytes(), []byte(`"fingerprint"`))) {
		return nil, fmt.Errorf("%w\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	var found bytes.Buffer
	for line := range bytes.Lines(stdout.Bytes()) {
		if bytes.HasPrefix(line, []byte("{")) {
			found.Write(line)
		}
	}
	return report.ReadJSON(&found)
}
