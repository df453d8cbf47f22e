// Package wine runs programs for Windows in tests, under version 8 of wine, as Debian's package wine64 has it.
//
// That version lacks two things that programs of Go need: a library with random numbers, in the place of which [Install] puts
// another one, and the system call by which package os removes what is in a folder, which [InstallGo] lets the package do without.
package wine

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Debian's package has these commands where no shell looks for them.
const (
	Command = "/usr/lib/wine/wine64"
	server  = "/usr/lib/wine/wineserver64"
)

//go:embed testdata/random.c
var randomLibrary string

// Install makes a Windows in a folder, unless it is there, and sets the environment of this process for programs in it. The folder
// is a temporary one if its name is empty. Windows runs until the end of the test. One test at a time has a folder.
func Install(t testing.TB, folder string) {
	t.Helper()
	folder = cmp.Or(folder, t.TempDir())
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"WINEPREFIX": folder, "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8"} {
		t.Setenv(name, value)
	}
	exec.CommandContext(t.Context(), server, "-k").Run() // one that a killed test has left
	// Windows does not start again with each program. So nobody waits for what it prints.
	t.Cleanup(func() { exec.Command(server, "-k").Run() })
	for _, cmd := range [][]string{{server, "-p"}, {Command, "wineboot", "-i"}} {
		if err := exec.CommandContext(t.Context(), cmd[0], cmd[1:]...).Run(); err != nil {
			t.Fatalf("%q: %v", cmd, err)
		}
	}
	library := filepath.Join(folder, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if _, err := os.Stat(library); !errors.Is(err, os.ErrNotExist) {
		return
	}
	compiler := exec.CommandContext(t.Context(), "x86_64-w64-mingw32-gcc", "-shared", "-o", library, "-x", "c", "-", "-x", "none", "-ladvapi32")
	compiler.Stdin = strings.NewReader(randomLibrary)
	if out, err := compiler.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Go is a Go installation in the Windows that Install has made, where the installer of Go for Windows puts it: in a folder with
// a space in its name.
type Go struct {
	root    string // as a name outside of Windows
	overlay string // for the go command that builds programs
}

// tools are the commands that the go command runs. It builds others by itself.
var tools = []string{"cmd/asm", "cmd/cgo", "cmd/compile", "cmd/cover", "cmd/link", "cmd/preprofile", "cmd/vet"}

// InstallGo puts the Go installation of the go command into the Windows that Install has made, with the go command and the tools
// built for it, unless it is there.
func InstallGo(t testing.TB) *Go {
	t.Helper()
	g := &Go{root: filepath.Join(os.Getenv("WINEPREFIX"), "drive_c", "Program Files", "Go")}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	from := strings.TrimSpace(string(out))
	for _, name := range []string{"VERSION", "go.env", "lib", "pkg/include", "src"} {
		if err := copyMissing(filepath.Join(g.root, name), filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.withoutSystemCall(from); err != nil {
		t.Fatal(err)
	}
	g.Build(t, filepath.Join(g.root, "bin")+"/", "", "cmd/go")
	g.Build(t, filepath.Join(g.root, "pkg", "tool", "windows_amd64")+"/", "", tools...)
	return g
}

// copyMissing copies a file or folder if there is nothing of the name. Nobody sees part of it.
func copyMissing(to, from string) error {
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	next := to + ".new"
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.CopyFS(next, os.DirFS(from))
	} else {
		var text []byte
		text, err = os.ReadFile(from)
		err = errors.Join(err, os.WriteFile(next, text, 0o666))
	}
	if err != nil {
		return err
	}
	return os.Rename(next, to)
}

// withoutSystemCall makes package os remove what is in folders as on releases of Windows that lack the system call that wine 8
// lacks. Package os itself tests that by the same variable.
func (g *Go) withoutSystemCall(from string) error {
	const file, variable = "src/internal/syscall/windows/at_windows.go", "var TestDeleteatFallback"
	text, err := os.ReadFile(filepath.Join(from, file))
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), variable+" bool\n", variable+" = true\n", 1)
	if changed == string(text) {
		return fmt.Errorf("%s has no %s", file, variable)
	}
	to := filepath.Join(g.root, file)
	g.overlay = filepath.Join(g.root, "overlay.json")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(from, file): to}})
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(to); err == nil && string(old) == changed {
		return os.WriteFile(g.overlay, overlay, 0o666)
	}
	return errors.Join(os.WriteFile(to, []byte(changed), 0o666), os.WriteFile(g.overlay, overlay, 0o666))
}

// Build builds packages for Windows, in the folder dir, to a file or to a folder, the name of which ends in a slash.
func (g *Go) Build(t testing.TB, to, dir string, packages ...string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", g.overlay, "-o", to}, packages...)...)
	build.Dir = dir
	build.Env = append(build.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Shims makes scripts in the folder dir that run the go command, and further programs by their names, under wine. They keep
// what the go command builds in the Windows, and take modules from the module cache.
func (g *Go) Shims(t testing.TB, dir string, programs map[string]string) {
	t.Helper()
	modules, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"go": filepath.Join(g.root, "bin", "go.exe")}
	for name, program := range programs {
		all[name] = program
	}
	for name, program := range all {
		script := fmt.Sprintf(`#!/bin/sh
unset GOROOT
export GOCACHE='C:\go\cache' GOPATH='C:\go' GOMODCACHE='%s' GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0
export WINEPATH='%s' WINEPREFIX='%s' WINEDEBUG=-all LC_ALL=C.UTF-8 TMPDIR='%s' # where wine finds the Windows that runs
exec %s '%s' "$@"
`, Path(strings.TrimSpace(string(modules))), `C:\Program Files\Go\bin`, os.Getenv("WINEPREFIX"), os.TempDir(), Command, program)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// DriveC returns the folder that is the drive C in Windows.
func (g *Go) DriveC() string { return filepath.Dir(filepath.Dir(g.root)) }

// Path returns the name in Windows of a file outside of it.
func Path(file string) string { return "Z:" + strings.ReplaceAll(file, "/", `\`) }
