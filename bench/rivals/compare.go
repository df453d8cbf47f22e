package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
)

// A comparison has the tools, the programs, and what was measured.
type comparison struct {
	tools    []tool
	runs     int
	limit    time.Duration // for heisen fuzz
	programs []corpus.Program
	progress io.Writer

	heisen   bugfuzz.Heisen
	versions string // of the libraries

	file   string                   // for results, until all are there; none if it is empty
	wanted string                   // what the results in the file must have been measured with
	done   map[string]*classResults // by class
}

// classResults are the results of a class.
type classResults struct {
	Found    map[string][]string `json:"found"`    // tests with a bug that are reported, by tool
	Wrong    map[string][]string `json:"wrong"`    // fixed tests that are reported, by tool
	Seconds  map[string]float64  `json:"seconds"`  // for the fixed tests, by tool
	Problems []string            `json:"problems"` // commands that did not work
}

// hangs is how much longer than its fixed twin a test may take.
const hangs = 5 * time.Second

// load reads the corpus, copies it for each tool, and builds heisen.
func (c *comparison) load(ctx context.Context, class string, selected *regexp.Regexp) (err error) {
	if c.heisen.Corpus, c.programs, err = bugfuzz.Load(ctx, class, selected); err != nil {
		return err
	}
	if len(c.programs) == 0 {
		return errors.New("no programs are selected")
	}
	if c.heisen.Work, err = os.MkdirTemp("", "heisen-rivals-"); err != nil {
		return err
	}
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/heisen-go/heisen").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	versions := filepath.Join(strings.TrimSpace(string(module)), "bench", "rivals", "module")
	for _, source := range []string{asTheyAre, withGoleak, withDeadlock} {
		if slices.ContainsFunc(c.tools, func(t tool) bool { return t.source == source }) {
			if err := c.copy(source, versions); err != nil {
				return err
			}
		}
	}
	if slices.ContainsFunc(c.tools, func(t tool) bool { return t.heisen }) {
		return c.heisen.Build(ctx)
	}
	return nil
}

// close removes the files of the comparison.
func (c *comparison) close() {
	if c.heisen.Work != "" {
		os.RemoveAll(c.heisen.Work)
	}
}

// copy copies the packages of the programs into a module of their own, with the changes that a tool
// needs.
func (c *comparison) copy(source, versions string) error {
	to := filepath.Join(c.heisen.Work, source)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(versions, name))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(to, name), string(text)); err != nil {
			return err
		}
		if name == "go.mod" {
			c.versions = versionsIn(string(text))
		}
	}
	packages := map[string]bool{}
	for _, p := range c.programs {
		name := filepath.Join(c.heisen.Corpus, p.Class, p.File)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		changed := string(text)
		switch source {
		case withGoleak:
			changed, err = addGoleak(name, changed)
		case withDeadlock:
			changed, err = replaceMutexes(name, changed)
		}
		if err == nil {
			err = write(filepath.Join(to, p.Class, p.File), changed)
		}
		if err == nil && source == withDeadlock && !packages[p.Class] {
			err = write(filepath.Join(to, p.Class, "options_test.go"), deadlockOptions(p.Class))
		}
		if err != nil {
			return err
		}
		packages[p.Class] = true
	}
	return nil
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o666)
}

var required = regexp.MustCompile(`(?m)^\s*(\S+/\S+) (v\S+)$`)

// versionsIn returns the modules that a go.mod file requires directly, with their versions.
func versionsIn(mod string) string {
	var all []string
	for _, m := range required.FindAllStringSubmatch(mod, -1) {
		all = append(all, m[1]+" "+m[2])
	}
	return strings.Join(all, ", ")
}

// measure runs all programs with all tools, class by class, so that other load on the machine concerns all
// tools alike. A command that fails in another way than by a report is a problem of that tool with that
// test; it is an error if it is the first that the tool runs.
func (c *comparison) measure(ctx context.Context) error {
	if err := c.resume(); err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(c.programs), func(p corpus.Program) bool { return c.done[p.Class] != nil })
	for i := range c.tools {
		if len(left) == 0 {
			break
		}
		t := &c.tools[i]
		if _, _, err := c.execute(ctx, t, left[0].Class, c.patience(), left[0].Fixed); err != nil { // fills the build cache
			return fmt.Errorf("%s: %w", t.title, err)
		}
	}
	for len(left) > 0 {
		n := 1
		for n < len(left) && left[n].Class == left[0].Class {
			n++
		}
		class := left[:n]
		left = left[n:]
		r := &classResults{Found: map[string][]string{}, Wrong: map[string][]string{}, Seconds: map[string]float64{}}
		for i := range c.tools {
			t := &c.tools[i]
			if err := c.try(ctx, t, class, r); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				fmt.Fprintf(c.progress, "%s: %v\n", t.title, err)
				first, _, _ := strings.Cut(err.Error(), "\n")
				r.Problems = append(r.Problems, t.title+": "+first)
			}
		}
		c.done[class[0].Class] = r
		if err := c.keep(); err != nil {
			return err
		}
		fmt.Fprintf(c.progress, "%s: %d programs, %d left\n", class[0].Class, len(class), len(left))
	}
	return nil
}

// try runs the programs of a class with a tool: their fixed twins together, and each test with a bug alone,
// because it may end the process. If anything is reported in the twins, it runs each of them alone, too.
func (c *comparison) try(ctx context.Context, t *tool, class []corpus.Program, r *classResults) error {
	var twins []string
	for _, p := range class {
		twins = append(twins, p.Fixed)
	}
	failed, took, err := c.execute(ctx, t, class[0].Class, c.patience(), twins...)
	if err != nil {
		return err
	}
	r.Seconds[t.name] = took.Seconds()
	for _, p := range class {
		if failed {
			again, _, err := c.execute(ctx, t, p.Class, c.patience(), p.Fixed)
			if err != nil {
				return err
			}
			if again {
				r.Wrong[t.name] = append(r.Wrong[t.name], p.Class+"/"+p.Fixed)
			}
		}
		found, _, err := c.execute(ctx, t, p.Class, took+hangs, p.Test)
		if err != nil {
			return err
		}
		if found {
			r.Found[t.name] = append(r.Found[t.name], p.Test)
		}
	}
	if failed && len(r.Wrong[t.name]) == 0 {
		r.Wrong[t.name] = []string{class[0].Class + ", once, when all ran together"}
	}
	return nil
}

// kept is what a file of results has.
type kept struct {
	With    string                   `json:"with"`
	Classes map[string]*classResults `json:"classes"`
}

// resume reads the results of an earlier run, if there is a file with any.
func (c *comparison) resume() error {
	c.done = map[string]*classResults{}
	var tests []string
	for _, t := range c.tools {
		tests = append(tests, t.name)
	}
	for _, p := range c.programs {
		tests = append(tests, p.Test)
	}
	c.wanted = fmt.Sprintf("%d runs, %v, %s", c.runs, c.limit, strings.Join(tests, " "))
	if c.file == "" {
		return nil
	}
	text, err := os.ReadFile(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return fmt.Errorf("%s: %w", c.file, err)
	}
	if k.With != c.wanted {
		return fmt.Errorf("%s is of a run with other flags", c.file)
	}
	c.done = k.Classes
	return nil
}

// keep writes the results so far to the file.
func (c *comparison) keep() error {
	if c.file == "" {
		return nil
	}
	text, err := json.Marshal(kept{c.wanted, c.done})
	if err != nil {
		return err
	}
	return os.WriteFile(c.file, text, 0o666)
}

// found reports whether a tool has reported the bug of a program.
func (c *comparison) found(tool string, p *corpus.Program) bool {
	r := c.done[p.Class]
	return r != nil && slices.Contains(r.Found[tool], p.Test)
}

// wrong returns the fixed tests in which a tool has reported something.
func (c *comparison) wrong(tool string) (tests []string) {
	for _, class := range corpus.Classes() {
		if r := c.done[class]; r != nil {
			tests = append(tests, r.Wrong[tool]...)
		}
	}
	return tests
}

// problems returns what did not work.
func (c *comparison) problems() (all []string) {
	for _, class := range corpus.Classes() {
		if r := c.done[class]; r != nil {
			all = append(all, r.Problems...)
		}
	}
	return all
}

// seconds returns the median time for the fixed tests of a class.
func (c *comparison) seconds(tool string) float64 {
	var times []float64
	for _, r := range c.done {
		if s, ok := r.Seconds[tool]; ok {
			times = append(times, s)
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return (times[(len(times)-1)/2] + times[len(times)/2]) / 2
}

// count returns the number of bugs that a tool has reported, of a class if it is not empty.
func (c *comparison) count(tool, class string) (n int) {
	for i := range c.programs {
		if p := &c.programs[i]; (class == "" || p.Class == class) && c.found(tool, p) {
			n++
		}
	}
	return n
}

// patience bounds the time for all runs of fixed tests, some of which take seconds each.
func (c *comparison) patience() time.Duration {
	return time.Minute + time.Duration(c.runs)*5*time.Second
}

// ending is what a tool or the go command prints if a test fails or a bug is reported.
var ending = regexp.MustCompile(`(?m)^(FAIL|--- FAIL|panic: |fatal error: |WARNING: |POTENTIAL DEADLOCK|exit status )`)

// execute runs tests of a package with a tool. It returns whether a test failed or anything was reported.
func (c *comparison) execute(ctx context.Context, t *tool, pkg string, hang time.Duration, tests ...string) (failed bool, took time.Duration, err error) {
	const more = 2 * time.Minute // for the build, and for what -predict runs
	ctx, cancel := context.WithTimeout(ctx, hang+time.Duration(len(tests))*c.limit+more)
	defer cancel()
	work := filepath.Join(c.heisen.Work, "schedules")
	command := "go"
	if t.heisen {
		command = c.heisen.Command
	}
	args := t.args(request{c.runs, hang.Round(time.Millisecond), c.limit, work, "^(" + strings.Join(tests, "|") + ")$", "./" + pkg})
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = filepath.Join(c.heisen.Work, t.source)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err = cmd.Run()
	took = time.Since(start)
	if err == nil {
		return false, took, nil
	}
	var exit *exec.ExitError
	built := !bytes.Contains(out.Bytes(), []byte("[build failed]")) && !bytes.Contains(out.Bytes(), []byte("[setup failed]"))
	if ctx.Err() == nil && errors.As(err, &exit) && built && ending.Match(out.Bytes()) {
		return true, took, nil
	}
	return false, took, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out.Bytes())
}
