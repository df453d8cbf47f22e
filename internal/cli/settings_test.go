package cli_test

import (
	"errors"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// settingsFiles is a module with a racy and a correct program, and tests of both.
func settingsFiles() map[string]string {
	const racy = `
var n int

func work() int {
	done := make(chan bool)
	go func() {
		n++
		done <- true
	}()
	n++
	<-done
	return n
}
`
	correct := strings.Replace(racy, "\tn++\n\t<-done\n", "\t<-done\n\tn++\n", 1)
	files := map[string]string{"go.mod": "module example.com/settings\n\ngo 1.25\n"}
	for name, body := range map[string]string{"racy": racy, "correct": correct} {
		files[name+"/main.go"] = "package main\n" + body + "\nfunc main() { work() }\n"
		files[name+"/main_test.go"] = "package main\n\nimport \"testing\"\n\nfunc TestWork(t *testing.T) { work() }\n"
	}
	return files
}

// setting is a way to build and run.
type setting struct {
	name  string
	env   []string
	args  []string // of heisen test and go test
	dir   string   // the name of the module's folder
	files map[string]string
	heavy bool
	// refused is what go test -race says where it does not support the setting.
	refused string
	// until is the Go release that has removed the setting. From then on, Go and heisen say so.
	until string
}

// debugFiles are files that give both programs a setting of GODEBUG.
func debugFiles(value string) map[string]string {
	text := "//go:debug " + value + "\npackage main\n"
	return map[string]string{"racy/debug.go": text, "correct/debug.go": text}
}

// settings are listed in docs/test-and-run.md.
var settings = []setting{
	{name: "none"},
	{name: "GOFLAGS=-trimpath", env: []string{"GOFLAGS=-trimpath"}, heavy: true},
	{name: "-trimpath", args: []string{"-trimpath"}, heavy: true},
	{name: "-buildmode=pie", args: []string{"-buildmode=pie"}, heavy: true, refused: "-buildmode=pie not supported when -race is enabled"},
	{name: "GOAMD64=v3", env: []string{"GOAMD64=v3"}, heavy: true},
	{name: "CGO_ENABLED=0", env: []string{"CGO_ENABLED=0"}, refused: "-race requires cgo"},
	{name: "CGO_ENABLED=1", env: []string{"CGO_ENABLED=1"}, heavy: true},
	{name: "-mod=mod", args: []string{"-mod=mod"}},
	{name: "-mod=vendor", args: []string{"-mod=vendor"}, files: map[string]string{
		"go.mod":                        "module example.com/settings\n\ngo 1.25\n\nrequire example.com/dep v1.0.0\n",
		"vendor/modules.txt":            "# example.com/dep v1.0.0\n## explicit; go 1.25\nexample.com/dep\n",
		"vendor/example.com/dep/dep.go": "package dep\n",
		"racy/dep.go":                   "package main\n\nimport _ \"example.com/dep\"\n",
	}},
	{name: "a workspace", files: map[string]string{"go.work": "go 1.25\n\nuse .\n"}},
	{name: "GOWORK=off", env: []string{"GOWORK=off"}, files: map[string]string{"go.work": "go 1.25\n\nuse ./nowhere\n"}},
	{name: "GODEBUG", env: []string{"GODEBUG=panicnil=1,inittrace=0"}},
	{name: "GODEBUG=asynctimerchan=1", env: []string{"GODEBUG=asynctimerchan=1"}, until: "go1.27"},
	{name: "GODEBUG=asyncpreemptoff=1", env: []string{"GODEBUG=asyncpreemptoff=1"}},
	{name: "//go:debug", files: debugFiles("panicnil=1")},
	{name: "//go:debug asynctimerchan=1", files: debugFiles("asynctimerchan=1"), until: "go1.27"},
	{name: "GOGC=off GOMEMLIMIT", env: []string{"GOGC=off", "GOMEMLIMIT=64MiB"}},
	{name: "GOMAXPROCS=1", env: []string{"GOMAXPROCS=1"}},
	{name: "GOTRACEBACK=crash", env: []string{"GOTRACEBACK=crash"}},
	{name: "-ldflags=-s -w", args: []string{"-ldflags=-s -w"}},
	{name: "-gcflags=-N -l", args: []string{"-gcflags=-N -l"}},
	{name: "-cover", args: []string{"-cover", "-coverpkg=./..."}},
	{name: "-cpu 1,2,4 -shuffle on -p 1", args: []string{"-cpu", "1,2,4", "-shuffle", "on", "-p", "1"}},
	{name: "-short -timeout -failfast", args: []string{"-short", "-timeout", "30s", "-failfast"}},
	{name: "a folder with blanks and accents", dir: "ein Ördner mit-Namen"},
	{name: "a linked folder", dir: "linked"},
	{name: "a folder that cannot be written", dir: "readonly"},
	{name: "TMPDIR with blanks", env: []string{"TMPDIR=$DIR/tmp dir"}, files: map[string]string{"tmp dir/keep": ""}},
	{name: "an older language version", files: map[string]string{"go.mod": "module example.com/settings\n\ngo 1.16\n"}},
}

// make writes the module and returns its folder.
func (s *setting) make(t *testing.T) string {
	t.Helper()
	all := settingsFiles()
	for name, text := range s.files {
		all[name] = text
	}
	top := t.TempDir()
	dir := filepath.Join(top, s.dir)
	if s.dir == "linked" {
		dir = filepath.Join(top, "real")
	}
	for name, text := range all {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	switch s.dir {
	case "linked":
		linked := filepath.Join(top, "linked")
		if err := os.Symlink(dir, linked); err != nil {
			t.Fatal(err)
		}
		return linked
	case "readonly":
		if err := filepath.Walk(dir, func(path string, _ os.FileInfo, _ error) error { return os.Chmod(path, 0o555) }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			filepath.Walk(dir, func(path string, _ os.FileInfo, _ error) error { return os.Chmod(path, 0o777) })
		})
	}
	return dir
}

// run runs a command in the module and returns its status and what it printed.
func (s *setting) run(t *testing.T, dir string, args ...string) (status int, printed string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PWD="+dir)
	for _, v := range s.env {
		cmd.Env = append(cmd.Env, strings.Replace(v, "$DIR", dir, 1))
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// removed reports whether the Go release that runs the tests has the setting no more.
func (s *setting) removed() bool {
	return s.until != "" && version.Compare(runtime.Version(), s.until) >= 0
}

// checkRemoved checks what a command says of a setting that the Go release has removed: what Go says.
func (s *setting) checkRemoved(t *testing.T, status int, printed string) {
	t.Helper()
	if status != 1 && status != 2 || !strings.Contains(printed, `removed GODEBUG "`) || strings.Contains(printed, "WARNING: DATA RACE") {
		t.Errorf("status %d, and not that the setting is removed:\n%s", status, printed)
	}
}

// TestSettings: under unusual settings the verdicts are those of go test -race.
func TestSettings(t *testing.T) {
	tier.Need(t, tier.CI)
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			if s.heavy { // it builds the standard library again
				tier.Need(t, tier.Nightly)
			}
			t.Parallel()
			dir := s.make(t)
			for _, test := range []struct {
				pkg    string
				status int
			}{{"racy", 66}, {"correct", 0}} {
				args := append(append([]string{"heisen", "test"}, s.args...), "./"+test.pkg)
				status, printed := s.run(t, dir, args...)
				if s.removed() {
					s.checkRemoved(t, status, printed)
					status, printed = s.run(t, dir, "heisen", "run", "./"+test.pkg)
					s.checkRemoved(t, status, printed)
					continue
				}
				if status != test.status || strings.Contains(printed, "WARNING: DATA RACE") != (status != 0) {
					t.Errorf("heisen test ./%s: status %d\n%s", test.pkg, status, printed)
				}
				if tier.Of() == tier.Nightly {
					args := append(append([]string{"go", "test", "-race"}, s.args...), "./"+test.pkg)
					race, printed := s.run(t, dir, args...)
					if s.refused != "" {
						if race == 0 || !strings.Contains(printed, s.refused) {
							t.Errorf("go test -race supports it: status %d\n%s", race, printed)
						}
					} else if (race != 0) != (test.status != 0) {
						t.Errorf("go test -race ./%s: status %d\n%s", test.pkg, race, printed)
					}
				}
				if len(s.args) == 0 {
					if status, printed := s.run(t, dir, "heisen", "run", "./"+test.pkg); status != test.status {
						t.Errorf("heisen run ./%s: status %d\n%s", test.pkg, status, printed)
					}
				}
			}
		})
	}
}
