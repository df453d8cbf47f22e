package build

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/wine"
)

// withWine makes the tests of programs for Windows run.
var withWine = flag.Bool("wine", false, "run programs for Windows under wine")

// underWine returns a script that runs the program at exe, in the Windows that WINEPREFIX names. The program gets a name by
// which programs for Windows can start it.
func underWine(exe string) (script string, err error) {
	program := exe + ".exe"
	if err := os.Rename(exe, program); err != nil {
		return "", err
	}
	script = exe + ".sh"
	return script, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec %s %s \"$@\"\n", wine.Command, program), 0o777)
}

// windowsFolder keeps a Windows, for commands that need one beside this test.
var windowsFolder = flag.String("windows", "", "`folder` in which wine's Windows is made, and kept")

// TestWine runs the example of the documents, and tests of this package again, with programs for Windows under wine that print
// what they find.
func TestWine(t *testing.T) {
	if !*withWine {
		t.Skip("without -wine: it builds the standard library once more")
	}
	wine.Install(t, *windowsFolder)
	forWindows(t)

	b, err := New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	bank := filepath.Join(t.TempDir(), "bank")
	if err := b.Build(t.Context(), "", bank, nil, "../../examples/bank"); err != nil {
		t.Fatal(err)
	}
	if bank, err = underWine(bank); err != nil {
		t.Fatal(err)
	}
	if got := (alone{exe: bank}).run(t); got.status != 66 || numReports(got.stderr) == 0 || !strings.Contains(got.stderr, "examples/bank/main.go:32\n") {
		t.Errorf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	if got := (alone{exe: bank, args: []string{"-fixed"}}).run(t); got.status != 0 || got.stderr != "" {
		t.Errorf("without the bug: status %d: %s%s", got.status, got.stdout, got.stderr)
	}

	tests := []string{"ReportAlone", "EndsAlone", "Options", "ManyRaces", "TestsAlone"}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^Test("+strings.Join(tests, "|")+")$", "-test.v")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range tests {
		if !strings.Contains(string(out), "--- PASS: Test"+name+" (") {
			t.Errorf("Test%s has not passed", name)
		}
	}
}

// forWindows sets the port for which this process and the go command build.
func forWindows(t *testing.T) {
	t.Helper()
	t.Setenv("GOOS", "windows")
	t.Setenv("GOARCH", "amd64")
	t.Setenv("CGO_ENABLED", "0")
}

// TestWineConnected runs tests of this package under wine, also the process that programs connect to. There is no go command
// for Windows, so the programs that they record are built here.
func TestWineConnected(t *testing.T) {
	if !*withWine {
		t.Skip("without -wine: it builds the standard library once more")
	}
	wine.Install(t, *windowsFolder)
	forWindows(t)
	dir := t.TempDir()
	if err := buildProgram(t.Context(), filepath.Join(dir, prebuiltProg)); err != nil {
		t.Fatal(err)
	}
	b, err := New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Build(t.Context(), "", filepath.Join(dir, prebuiltBank), nil, "../../examples/bank"); err != nil {
		t.Fatal(err)
	}
	tests := []string{
		"Bank", "BankDirected", "Verdicts", "Unrecorded", "Goroutines", "Locks", "Chance", "Atomics", "Stacks", "DeepRecursion", "Copy",
		"ManyGoroutines", "Ends", "ExitAmidEvents", "Killed", "Idle", "Schedulers", "Spans", "Skipped",
		"Replay", "ReplayUnrecorded", "ScheduledVerdicts", "StopsAtCopies", "Meetings", "DirectedDeadlock",
	}
	// A program for Windows cannot send itself a signal.
	out, err := underWineTest(t, ".", "-prebuilt", `Z:`+dir, "-test.run=^Test("+strings.Join(tests, "|")+")$",
		"-test.skip=^TestEnds$/^abort$", "-test.v", "-test.short", "-replays=1").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range tests {
		if !strings.Contains(string(out), "--- PASS: Test"+name+" (") {
			t.Errorf("Test%s has not passed", name)
		}
	}
}

// TestWineParts runs the tests of what stands below the connection, of names of files and of folders for executions, under wine, but
// for those that are about /proc or run the go command. A test that fails only because wine cannot remove its folder has passed.
func TestWineParts(t *testing.T) {
	if !*withWine {
		t.Skip("without -wine: it builds programs for Windows")
	}
	wine.Install(t, *windowsFolder)
	forWindows(t)
	for pkg, which := range map[string]string{"../recorder": "-test.skip=^Test(Emulator|EmulatorAlone|Symbolizer|HostileSymbolizer)$",
		"../processes": "-test.skip=^$", "../filename": "-test.skip=^$", "../source": "-test.skip=^TestCompilerAgrees$",
		"../confirm/controlled": "-test.run=^TestFoldersTaken$"} {
		cmd := underWineTest(t, pkg, which, "-test.short")
		cmd.Dir = pkg
		if out, err := cmd.CombinedOutput(); err != nil && !onlyWinesFault(string(out)) {
			t.Errorf("%s: %v\n%s", pkg, err, out)
		}
	}
}

// underWineTest returns a command that runs the tests of a package under wine.
func underWineTest(t *testing.T, pkg string, args ...string) *exec.Cmd {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "test.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", exe, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exec.CommandContext(t.Context(), wine.Command, append([]string{exe}, args...)...)
}

// winesFault is what the removal of a test's folder says under wine 8, which lacks the system call for it.
var winesFault = regexp.MustCompile(`^ +testing\.go:\d+: TempDir RemoveAll cleanup: .*: Invalid function\.$`)

// onlyWinesFault reports whether the output of failed tests has this as the only reason.
func onlyWinesFault(out string) bool {
	found := false
	for line := range strings.Lines(strings.ReplaceAll(out, "\r\n", "\n")) {
		line = strings.TrimRight(line, "\n")
		switch {
		case winesFault.MatchString(line):
			found = true
		case strings.HasPrefix(strings.TrimSpace(line), "--- FAIL: "), line == "FAIL":
		default:
			return false
		}
	}
	return found
}

// TestWineLibrary runs the tests of the public packages under wine, as they are built without heisen, but for those of vet
// and driver and one of heisentest, which need a go command. A test that fails only because wine cannot remove its folder has passed.
func TestWineLibrary(t *testing.T) {
	if !*withWine {
		t.Skip("without -wine: it takes long")
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/heisen-go/heisen/...")
	all, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	wine.Install(t, *windowsFolder)
	internal := regexp.MustCompile(`/(internal|bench|examples|docs|cmd|driver|vet)(/|$)`)
	root, _, _ := strings.Cut(string(all), "\n")
	ran := 0
	for dir := range strings.Lines(string(all)) {
		dir = strings.TrimSpace(dir)
		pkg := strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")
		if internal.MatchString("/" + pkg) {
			continue
		}
		ran++
		t.Run(cmp.Or(pkg, "."), func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "test.exe")
			build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", exe, ".")
			build.Dir, build.Env = dir, append(os.Environ(), "GOOS=windows", "GOARCH=amd64")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if _, err := os.Stat(exe); err != nil {
				return // it has no tests
			}
			run := exec.CommandContext(t.Context(), wine.Command, exe, "-test.short", "-test.timeout=20m", "-test.skip=^TestImports$")
			run.Dir = dir
			if out, err := run.CombinedOutput(); err != nil && !onlyWinesFault(string(out)) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if ran < 10 {
		t.Errorf("tests of %d packages", ran)
	}
}
