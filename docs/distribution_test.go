package docs_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"gopkg.in/yaml.v3"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	_ "github.com/heisen-go/heisen/vet/golangci"
)

// An action is a composite action of GitHub.
type action struct {
	Name, Description string
	Inputs            map[string]struct{ Description, Default string }
	Outputs           map[string]struct{ Description, Value string }
	Runs              struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	Name, ID, Shell, Run string
	Uses, If             string
	With                 map[string]string
	WorkingDirectory     string `yaml:"working-directory"`
	Env                  map[string]string
}

// decode parses a YAML document and fails if it has a field that the type does not have.
func decode(t *testing.T, text string, to any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(to); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if err := d.Decode(new(any)); err != io.EOF {
		t.Fatalf("more than one document: %v", err)
	}
}

func readAction(t *testing.T) (a action) {
	t.Helper()
	decode(t, read(t, "action.yml"), &a)
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("not a composite action: %+v", a)
	}
	return a
}

var expression = regexp.MustCompile(`\$\{\{\s*([^}]*?)\s*\}\}`)

// A runner runs steps of an action as GitHub does.
type runner struct {
	env    map[string]string // of the workflow
	caches []cached          // what earlier runs have kept, in this order

	temp    string // a folder for the steps
	module  string
	values  map[string]string // of expressions, by name
	used    map[string]bool   // expressions
	status  int               // of the step that failed
	printed bytes.Buffer
}

// A cached folder is what actions/cache/save has kept.
type cached struct{ key, folder string }

// action runs all steps in the folder of a module. It returns what the steps printed, the summary of the
// job, and the outputs of the action. The exit status is that of the step that failed.
func (r *runner) action(t *testing.T, a *action, module string, inputs map[string]string) (printed, summary string, outputs map[string]string) {
	t.Helper()
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	r.temp, r.module, r.used, r.status = t.TempDir(), module, map[string]bool{}, 0
	r.printed.Reset()
	r.values = map[string]string{"github.action_path": repository}
	for name, input := range a.Inputs {
		r.values["inputs."+name] = input.Default
	}
	for name, value := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			t.Fatalf("the action has no input %s", name)
		}
		r.values["inputs."+name] = value
	}
	r.shareBuilds(t)
	for _, step := range a.Runs.Steps {
		if r.wanted(t, step.If) {
			r.step(t, step)
		}
	}
	outputs = map[string]string{}
	for name, output := range a.Outputs {
		outputs[name] = r.expand(t, output.Value)
	}
	for name := range a.Inputs {
		if !r.used["inputs."+name] {
			t.Errorf("the input %s is not used", name)
		}
	}
	text, err := os.ReadFile(filepath.Join(r.temp, "summary"))
	if err != nil {
		t.Error(err)
	}
	return r.printed.String(), string(text), outputs
}

// shareBuilds puts the build cache of this machine in the place of the one that the action keeps.
func (r *runner) shareBuilds(t *testing.T) {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err == nil {
		err = os.Mkdir(filepath.Join(r.temp, "heisen"), 0o777)
	}
	if err == nil {
		err = os.Symlink(strings.TrimSpace(string(cache)), filepath.Join(r.temp, "heisen", "compiled"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// expand replaces expressions.
func (r *runner) expand(t *testing.T, text string) string {
	t.Helper()
	return expression.ReplaceAllStringFunc(text, func(match string) string {
		name := expression.FindStringSubmatch(match)[1]
		value, ok := r.values[name]
		if !ok {
			t.Fatalf("%s has no value", name)
		}
		r.used[name] = true
		return value
	})
}

// comparison matches a condition on an output, which is empty if its step did not set it.
var comparison = regexp.MustCompile(`^(steps\.\w+\.outputs\.[\w-]+) (==|!=) '(\w*)'$`)

// wanted reports whether a step runs. Without always(), it does not after a step that failed.
func (r *runner) wanted(t *testing.T, condition string) bool {
	t.Helper()
	wanted, always := true, false
	for part := range strings.SplitSeq(condition, " && ") {
		m := comparison.FindStringSubmatch(part)
		switch {
		case part == "":
		case part == "always()":
			always = true
		case m == nil:
			t.Fatalf("unknown condition %q", part)
		case (r.values[m[1]] == m[3]) != (m[2] == "=="):
			wanted = false
		}
	}
	return wanted && (always || r.status == 0)
}

// step runs a step.
func (r *runner) step(t *testing.T, step actionStep) {
	t.Helper()
	switch step.Uses {
	case "":
		r.script(t, step)
	case "actions/cache/restore@v4":
		r.restore(t, step)
	case "actions/cache/save@v4":
		path, key := r.expand(t, step.With["path"]), r.expand(t, step.With["key"])
		kept := filepath.Join(t.TempDir(), "kept")
		if filepath.Base(path) != "compiled" {
			if err := os.CopyFS(kept, os.DirFS(path)); err != nil {
				t.Fatalf("step %q: %v", step.Name, err)
			}
		}
		if slices.ContainsFunc(r.caches, func(c cached) bool { return c.key == key }) {
			t.Errorf("step %q: %s is kept already, and would not be kept again", step.Name, key)
		}
		r.caches = append(r.caches, cached{key, kept})
	default:
		t.Fatalf("step %q uses %q", step.Name, step.Uses)
	}
}

// restore copies what was kept last under the key, or under one that begins with a further key.
func (r *runner) restore(t *testing.T, step actionStep) {
	t.Helper()
	key := r.expand(t, step.With["key"])
	if strings.ContainsAny(key, ",\n") || len(key) > 512 {
		t.Errorf("step %q: the key %q is not allowed", step.Name, key)
	}
	prefixes := strings.Fields(r.expand(t, step.With["restore-keys"]))
	for _, prefix := range append([]string{key}, prefixes...) {
		for _, c := range slices.Backward(r.caches) {
			if c.key != key && (prefix == key || !strings.HasPrefix(c.key, prefix)) {
				continue
			}
			if path := r.expand(t, step.With["path"]); filepath.Base(path) != "compiled" {
				if err := os.CopyFS(path, os.DirFS(c.folder)); err != nil {
					t.Fatal(err)
				}
			}
			if step.ID != "" {
				r.values["steps."+step.ID+".outputs.cache-hit"] = fmt.Sprint(c.key == key)
			}
			return
		}
	}
}

// script runs a script.
func (r *runner) script(t *testing.T, step actionStep) {
	t.Helper()
	if step.Shell != "bash" {
		t.Fatalf("step %q: shell %q", step.Name, step.Shell)
	}
	if expression.MatchString(step.Run) {
		t.Errorf("step %q: an expression in a script can inject commands", step.Name)
	}
	file := filepath.Join(r.temp, "output")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
	if cmd.Dir = r.expand(t, step.WorkingDirectory); !filepath.IsAbs(cmd.Dir) {
		cmd.Dir = filepath.Join(r.module, cmd.Dir)
	}
	cmd.Env = append(cmd.Environ(), "RUNNER_TEMP="+r.temp, "RUNNER_OS=Linux", "RUNNER_ARCH=X64", "GITHUB_OUTPUT="+file,
		"GITHUB_STEP_SUMMARY="+filepath.Join(r.temp, "summary"))
	for name, value := range r.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	for _, name := range slices.Sorted(maps.Keys(step.Env)) {
		cmd.Env = append(cmd.Env, name+"="+r.expand(t, step.Env[name]))
	}
	cmd.Stdout, cmd.Stderr = &r.printed, &r.printed
	failed := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(failed)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(written)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && step.ID != "" {
			r.values["steps."+step.ID+".outputs."+name] = value
		}
	}
	if status := cmd.ProcessState.ExitCode(); status != 0 {
		r.status = status
	}
}

// on returns the environment of an event.
func on(event, branch, base, id string) map[string]string {
	return map[string]string{"GITHUB_EVENT_NAME": event, "GITHUB_REF_NAME": branch, "GITHUB_BASE_REF": base, "GITHUB_RUN_ID": id, "GITHUB_RUN_ATTEMPT": "1"}
}

// TestAction runs the GitHub Action on the module of the tutorial, whose bug heisen test does not see
// and heisen fuzz does.
func TestAction(t *testing.T) {
	tier.Need(t, tier.CI)
	a := readAction(t)
	r := &runner{env: on("push", "main", "", "1")}
	module := filepath.Join(root, "docs", "testdata", "tutorial")

	printed, summary, outputs := r.action(t, &a, module, nil)
	if r.status != driver.Clean || summary != "### heisen test: nothing found\n\n" {
		t.Errorf("test: exit status %d, summary %q\n%s", r.status, summary, printed)
	}
	for name, file := range outputs {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("test: output %s: %v", name, err)
		}
	}
	if len(r.caches) != 2 || !strings.HasPrefix(r.caches[0].key, "heisen-Linux-X64-go1.") {
		t.Fatalf("test: kept are %v", r.caches)
	}

	fuzz := map[string]string{"command": "fuzz", "working-directory": "tutorial",
		"arguments": "-time 2s\n -schedules " + filepath.Join(t.TempDir(), "schedules") + " ./..."}
	r.env = on("push", "main", "", "2")
	printed, summary, outputs = r.action(t, &a, filepath.Dir(module), fuzz)
	if r.status != driver.Findings || !strings.HasPrefix(summary, "### heisen fuzz: findings\n\n    ") || !strings.Contains(summary, "\n    WARNING: DATA RACE\n") {
		t.Errorf("fuzz: exit status %d, summary\n%s\n%s", r.status, summary, printed)
	}
	for _, want := range []string{"WARNING: DATA RACE", "::error file=", "quotes.go"} {
		if !strings.Contains(printed, want) {
			t.Errorf("fuzz: %q is not in the output\n%s", want, printed)
		}
	}
	for name, want := range map[string]string{"sarif": `"version": "2.1.0"`, "page": "<!DOCTYPE html>"} {
		if text, err := os.ReadFile(outputs[name]); err != nil || !strings.Contains(strings.ToLower(string(text)), strings.ToLower(want)) {
			t.Errorf("fuzz: output %s: %v, or %s is not in it", name, err, want)
		}
	}
	if len(r.caches) != 3 { // what was compiled is there
		t.Errorf("fuzz: kept are %v", r.caches)
	}

	// Pull requests.
	for _, test := range []struct {
		base, newOnly, want string
		status              int
	}{
		{"main", "true", "### heisen fuzz: nothing found\n\nFindings that main has are left out.\n", driver.Clean},
		{"main", "false", "### heisen fuzz: findings\n\n    ", driver.Findings},
		{"next", "true", "### heisen fuzz: findings\n\nThere are no findings of next yet to compare with: ", driver.Findings},
	} {
		r.env = on("pull_request", "7/merge", test.base, "3")
		fuzz["new-only"] = test.newOnly
		printed, summary, _ = r.action(t, &a, filepath.Dir(module), fuzz)
		if r.status != test.status || !strings.HasPrefix(summary, test.want) || len(r.caches) != 3 {
			t.Errorf("%+v: exit status %d, summary\n%s\n%s", test, r.status, summary, printed)
		}
	}
}

// A hook is a hook for pre-commit.
type hook struct {
	ID, Name, Description, Entry, Language string
	Args                                   []string
	TypesOr                                []string `yaml:"types_or"`
	PassFilenames                          *bool    `yaml:"pass_filenames"`
	Stages                                 []string
}

// clone copies the files of the repository, as git would clone them.
func clone(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		from := filepath.Join(root, name)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() { // deleted, or a link
			continue
		}
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o777)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestHooks runs the hooks for pre-commit as it does: the entry is a script in a clone of the repository,
// and the arguments follow it. They build one command, once.
func TestHooks(t *testing.T) {
	tier.Need(t, tier.CI)
	var hooks []hook
	decode(t, read(t, ".pre-commit-hooks.yaml"), &hooks)
	repository := clone(t)
	module := filepath.Join(t.TempDir(), "tutorial")
	if err := os.CopyFS(module, os.DirFS(filepath.Join(root, "docs", "testdata", "tutorial"))); err != nil {
		t.Fatal(err)
	}
	var built os.FileInfo
	want := map[string]int{"heisen-test": driver.Clean, "heisen-fuzz": driver.Findings}
	for _, h := range hooks {
		status, ok := want[h.ID]
		if !ok {
			t.Errorf("unknown hook %s", h.ID)
			continue
		}
		delete(want, h.ID)
		if h.Name == "" || h.Language != "script" || h.PassFilenames == nil || *h.PassFilenames {
			t.Errorf("%s: %+v", h.ID, h)
		}
		words := strings.Fields(h.Entry)
		cmd := exec.Command(filepath.Join(repository, words[0]), append(words[1:], h.Args...)...)
		cmd.Dir = module
		// What git sets for a hook, and what a user may have set for other modules.
		cmd.Env = append(cmd.Environ(), "GIT_DIR="+filepath.Join(module, ".git"), "GIT_INDEX_FILE=index", "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != status {
			t.Errorf("%s: exit status %d, want %d\n%s", h.ID, got, status, out)
		}
		info, err := os.Stat(filepath.Join(repository, "heisen"))
		if err != nil || built != nil && !os.SameFile(built, info) {
			t.Errorf("%s: the command was built again, or not at all: %v", h.ID, err)
		}
		built = info
	}
	for id := range want {
		t.Errorf("there is no hook %s", id)
	}
}

// TestConfigurations: the YAML in the guide names inputs and outputs that the action has, and hooks
// that there are.
func TestConfigurations(t *testing.T) {
	a := readAction(t)
	var hooks []hook
	decode(t, read(t, ".pre-commit-hooks.yaml"), &hooks)
	actions, repositories, plugins, linters := 0, 0, 0, 0
	for _, b := range blocks(read(t, "docs/ci.md")) {
		if b.language != "yaml" {
			continue
		}
		var file struct {
			Jobs map[string]struct {
				Steps []struct {
					Uses string
					ID   string
					With map[string]string
				}
			}
			Repos []struct {
				Repo, Rev string
				Hooks     []hook
			}
			Plugins []struct{ Module, Import string }
			Linters struct {
				Enable   []string
				Settings struct {
					Custom map[string]struct {
						Type     string
						Settings any
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(b.text), &file); err != nil {
			t.Fatalf("%v in\n%s", err, b.text)
		}
		for _, job := range file.Jobs {
			for _, step := range job.Steps {
				if strings.HasPrefix(step.Uses, "heisen-go/heisen@") {
					actions++
					for name := range step.With {
						if _, ok := a.Inputs[name]; !ok {
							t.Errorf("the action has no input %s", name)
						}
					}
				}
			}
		}
		for _, m := range regexp.MustCompile(`steps\.heisen\.outputs\.(\w+)`).FindAllStringSubmatch(b.text, -1) {
			if _, ok := a.Outputs[m[1]]; !ok {
				t.Errorf("the action has no output %s", m[1])
			}
		}
		for _, p := range file.Plugins {
			plugins++
			folder, ok := strings.CutPrefix(p.Import, p.Module+"/")
			if !ok || !strings.Contains(read(t, "go.mod"), "module "+p.Module+"\n") {
				t.Errorf("plugin %s is not in this module", p.Import)
			} else if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
				t.Error(err)
			}
		}
		for name, l := range file.Linters.Settings.Custom {
			linters++
			construct, err := register.GetPlugin(name)
			if err != nil {
				t.Error(err)
			} else if _, err := construct(l.Settings); err != nil {
				t.Error(err)
			}
			if l.Type != "module" || !slices.Contains(file.Linters.Enable, name) {
				t.Errorf("linter %s has type %s and is enabled with %s", name, l.Type, file.Linters.Enable)
			}
		}
		for _, repository := range file.Repos {
			repositories++
			for _, h := range repository.Hooks {
				if !slices.ContainsFunc(hooks, func(o hook) bool { return o.ID == h.ID }) {
					t.Errorf("there is no hook %s", h.ID)
				}
			}
		}
	}
	if actions == 0 || repositories == 0 || plugins == 0 || linters == 0 {
		t.Errorf("the guide uses the action %d times and the hooks %d times, and has %d plugins and %d linters", actions, repositories, plugins, linters)
	}
}
