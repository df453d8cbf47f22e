package build

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wine makes TestWine run.
var wine = flag.Bool("wine", false, "run programs for Windows under wine")

// Debian's package wine64 has these commands, where no shell looks for them.
const (
	wineCommand = "/usr/lib/wine/wine64"
	wineServer  = "/usr/lib/wine/wineserver64"
)

// underWine returns a script that runs the program at exe, in the Windows that WINEPREFIX names. The program gets a name by
// which programs for Windows can start it.
func underWine(exe string) (script string, err error) {
	program := exe + ".exe"
	if err := os.Rename(exe, program); err != nil {
		return "", err
	}
	script = exe + ".sh"
	return script, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec %s %s \"$@\"\n", wineCommand, program), 0o777)
}

// installWindows makes a Windows and sets WINEPREFIX. Programs of Go need a library that wine 8 does not have.
func installWindows(t *testing.T) {
	t.Helper()
	prefix := cmp.Or(*windowsFolder, t.TempDir())
	if err := os.MkdirAll(prefix, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"WINEPREFIX": prefix, "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8"} {
		t.Setenv(name, value)
	}
	// Windows goes on until the end, and does not start again with each program. So nobody waits for what it prints.
	t.Cleanup(func() { exec.Command(wineServer, "-k").Run() })
	for _, cmd := range [][]string{{wineServer, "-p"}, {wineCommand, "wineboot", "-i"}} {
		if err := exec.CommandContext(t.Context(), cmd[0], cmd[1:]...).Run(); err != nil {
			t.Fatalf("%q: %v", cmd, err)
		}
	}
	library := filepath.Join(prefix, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if _, err := os.Stat(library); !errors.Is(err, os.ErrNotExist) {
		return
	}
	compiler := exec.CommandContext(t.Context(), "x86_64-w64-mingw32-gcc", "-shared", "-o", library, "testdata/wine/random.c", "-ladvapi32")
	if out, err := compiler.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// windowsFolder keeps a Windows, for commands that need one beside this test.
var windowsFolder = flag.String("windows", "", "`folder` in which wine's Windows is made, and kept")

// TestWine runs the example of the documents, and tests of this package again, with programs for Windows under wine. Programs
// for Windows do not connect to heisen.
func TestWine(t *testing.T) {
	if !*wine {
		t.Skip("without -wine: it builds the standard library once more")
	}
	installWindows(t)
	t.Setenv("GOOS", "windows")
	t.Setenv("GOARCH", "amd64")

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
