package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo puts a go command on the path that prints the text, or fails with it.
func fakeGo(t *testing.T, text string, status int) {
	t.Helper()
	dir := t.TempDir()
	out := ""
	if status != 0 {
		out = " >&2"
	}
	script := fmt.Sprintf("#!/bin/sh\n/bin/cat <<'END'%s\n%s\nEND\nexit %d\n", out, text, status)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

func TestUnsupported(t *testing.T) {
	for _, test := range []struct {
		version, goos, goarch, flags string
		want                         string
	}{
		{"go1.26", "linux", "amd64", "", ""},
		{"go1.27.4", "linux", "amd64", "", ""},
		{"go1.26rc1", "linux", "arm64", "-mod=mod -trimpath", ""},
		{"go1.26.8 X:synctest", "linux", "amd64", "-buildvcs=false", ""},
		{"go1.26-devel_abc123", "linux", "amd64", "", ""},
		{"go1.25.3", "linux", "amd64", "", "unsupported Go release go1.25.3: heisen instruments programs with Go 1.26 and later"},
		{"go1.28rc1", "linux", "amd64", "", ""},
		{"go1.28-devel_0123abc", "linux", "amd64", "", ""},
		{"go1.2", "linux", "amd64", "", "unsupported Go release go1.2: heisen instruments programs with Go 1.26 and later"},
		{"go1.275", "linux", "amd64", "", ""},
		{"go2", "linux", "amd64", "", "unsupported Go release go2: heisen instruments programs with Go 1.26 and later"},
		{"", "linux", "amd64", "", "unsupported Go release : heisen instruments programs with Go 1.26 and later"},
		{"go1.26.0", "windows", "amd64", "", ""},
		{"go1.26.0", "windows", "arm64", "", "unsupported platform windows/arm64: heisen instruments programs for " + strings.Join(PortNames(Linked), ", ")},
		{"go1.26.0", "linux", "386", "", "unsupported platform linux/386: heisen instruments programs for " + strings.Join(PortNames(Linked), ", ")},
		{"go1.26.0", "linux", "amd64", "-race", "unsupported: GOFLAGS contains -race, which heisen sets or excludes itself"},
		{"go1.26.0", "linux", "amd64", "-mod=mod --gcflags=all=-N", "unsupported: GOFLAGS contains --gcflags=all=-N, which heisen sets or excludes itself"},
		{"go1.26.0", "linux", "amd64", "'-gcflags=all=-N -l'", "unsupported: GOFLAGS contains '-gcflags=all=-N, which heisen sets or excludes itself"},
		{"go1.26.0", "linux", "amd64", "-overlay=x", "unsupported: GOFLAGS contains -overlay=x, which heisen sets or excludes itself"},
	} {
		t.Run(strings.Join([]string{test.version, test.goos, test.goarch, test.flags}, " "), func(t *testing.T) {
			text, err := json.Marshal(map[string]string{
				"GOROOT": "/goroot", "GOVERSION": test.version, "GOOS": test.goos, "GOARCH": test.goarch, "GOFLAGS": test.flags,
			})
			if err != nil {
				t.Fatal(err)
			}
			fakeGo(t, string(text), 0)
			toolchain, err := FindToolchain(t.Context(), "")
			if test.want == "" {
				if err != nil || toolchain.Root != "/goroot" || toolchain.Version != test.version || !strings.HasSuffix(toolchain.Go, "/go") {
					t.Errorf("%+v, error %v", toolchain, err)
				}
				return
			}
			if !errors.Is(err, ErrUnsupported) || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if _, err := New(t.Context(), "", t.TempDir()); !errors.Is(err, ErrUnsupported) {
				t.Errorf("New: error %v", err)
			}
		})
	}
}

func TestNoToolchain(t *testing.T) {
	t.Run("no command", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := FindToolchain(t.Context(), ""); !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("failure", func(t *testing.T) {
		fakeGo(t, "go: go.mod requires go >= 1.99", 1)
		if _, err := FindToolchain(t.Context(), ""); err == nil || err.Error() != "go env: go: go.mod requires go >= 1.99" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("nonsense", func(t *testing.T) {
		fakeGo(t, "hello", 0)
		if _, err := FindToolchain(t.Context(), ""); err == nil || !strings.HasPrefix(err.Error(), "go env: ") {
			t.Errorf("error %v", err)
		}
	})
}

// TestMainModuleIsStd refuses to instrument the standard library's own module.
func TestMainModuleIsStd(t *testing.T) {
	if _, err := New(t.Context(), filepath.Join(installation(t).Root, "src"), t.TempDir()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}
