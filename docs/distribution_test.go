package docs_test

import (
	"bytes"
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
	"github.com/heisen-go/heisen/internal/testaid/heisentest"
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

// run runs the steps of the action as a runner does, in the folder of a module. It returns what the
// steps printed, the outputs of the action, and the exit status of the last step.
func (a *action) run(t *testing.T, module string, inputs map[string]string) (printed string, outputs map[string]string, status int) {
	t.Helper()
	temp := t.TempDir()
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"github.action_path": repository}
	for name, input := range a.Inputs {
		values["inputs."+name] = input.Default
	}
	for name, value := range inputs {
		if _, ok := values["inputs."+name]; !ok {
			t.Fatalf("the action has no input %s", name)
		}
		values["inputs."+name] = value
	}
	used := map[string]bool{}
	expand := func(text string) string {
		return expression.ReplaceAllStringFunc(text, func(match string) string {
			name := expression.FindStringSubmatch(match)[1]
			value, ok := values[name]
			if !ok {
				t.Fatalf("%s has no value", name)
			}
			used[name] = true
			return value
		})
	}
	var all bytes.Buffer
	for _, step := range a.Runs.Steps {
		if step.Shell != "bash" {
			t.Fatalf("step %q: shell %q", step.Name, step.Shell)
		}
		if expression.MatchString(step.Run) {
			t.Errorf("step %q: an expression in a script can inject commands", step.Name)
		}
		file := filepath.Join(temp, "output")
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir = module
		if dir := expand(step.WorkingDirectory); filepath.IsAbs(dir) {
			cmd.Dir = dir
		} else {
			cmd.Dir = filepath.Join(module, dir)
		}
		cmd.Env = append(cmd.Environ(), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+file)
		for _, name := range slices.Sorted(maps.Keys(step.Env)) {
			cmd.Env = append(cmd.Env, name+"="+expand(step.Env[name]))
		}
		cmd.Stdout, cmd.Stderr = &all, &all
		failed := cmd.Run()
		if cmd.ProcessState == nil {
			t.Fatal(failed)
		}
		written, _ := os.ReadFile(file) // a step without outputs writes none
		for line := range strings.Lines(string(written)) {
			if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && step.ID != "" {
				values["steps."+step.ID+".outputs."+name] = value
			}
		}
		if status = cmd.ProcessState.ExitCode(); status != 0 {
			break
		}
	}
	outputs = map[string]string{}
	for name, output := range a.Outputs {
		outputs[name] = expand(output.Value)
	}
	for name := range a.Inputs {
		if !used["inputs."+name] {
			t.Errorf("the input %s is not used", name)
		}
	}
	return all.String(), outputs, status
}

// TestAction runs the GitHub Action on the module of the tutorial, whose bug heisen test does not see
// and heisen fuzz does.
func TestAction(t *testing.T) {
	tier.Need(t, tier.CI)
	a := readAction(t)
	module := filepath.Join(root, "docs", "testdata", "tutorial")

	printed, outputs, status := a.run(t, module, nil)
	if status != driver.Clean {
		t.Errorf("test: exit status %d\n%s", status, printed)
	}
	for name, file := range outputs {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("test: output %s: %v", name, err)
		}
	}

	schedules := filepath.Join(t.TempDir(), "schedules")
	printed, outputs, status = a.run(t, filepath.Dir(module), map[string]string{
		"command": "fuzz", "working-directory": "tutorial",
		"arguments": "-time 2s\n -schedules " + schedules + " ./...",
	})
	if status != driver.Findings {
		t.Errorf("fuzz: exit status %d\n%s", status, printed)
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
}

// A hook is a hook for pre-commit.
type hook struct {
	ID, Name, Description, Entry, Language string
	Args                                   []string
	TypesOr                                []string `yaml:"types_or"`
	PassFilenames                          *bool    `yaml:"pass_filenames"`
	Stages                                 []string
}

// TestHooks runs the commands of the hooks for pre-commit. pre-commit installs the commands of the
// module with go install ./..., and passes the arguments after the entry.
func TestHooks(t *testing.T) {
	tier.Need(t, tier.CI)
	var hooks []hook
	decode(t, read(t, ".pre-commit-hooks.yaml"), &hooks)
	bin := heisentest.Install(t)
	module := filepath.Join(t.TempDir(), "tutorial")
	if err := os.CopyFS(module, os.DirFS(filepath.Join(root, "docs", "testdata", "tutorial"))); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"heisen-test": driver.Clean, "heisen-fuzz": driver.Findings}
	for _, h := range hooks {
		status, ok := want[h.ID]
		if !ok {
			t.Errorf("unknown hook %s", h.ID)
			continue
		}
		delete(want, h.ID)
		words := strings.Fields(h.Entry)
		if h.Name == "" || h.Language != "golang" || h.PassFilenames == nil || *h.PassFilenames {
			t.Errorf("%s: %+v", h.ID, h)
		}
		if _, err := os.Stat(filepath.Join(root, "cmd", words[0])); err != nil {
			t.Errorf("%s: go install does not install %s: %v", h.ID, words[0], err)
		}
		cmd := exec.Command(filepath.Join(bin, words[0]), append(words[1:], h.Args...)...)
		cmd.Dir = module
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != status {
			t.Errorf("%s: exit status %d, want %d\n%s", h.ID, got, status, out)
		}
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
