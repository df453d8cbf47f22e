package build

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/recorder"
)

// links has the ports for which TestLinks links programs.
var links = flag.String("links", "", "comma-separated `ports` for which programs are linked, or all")

// formats has what executables of a system begin with.
var formats = map[string]string{"linux": "\x7fELF", "freebsd": "\x7fELF", "darwin": "\xcf\xfa\xed\xfe", "windows": "MZ"}

// TestLinks links three programs for other ports: the bank of the examples, a server, and a test binary.
func TestLinks(t *testing.T) {
	ports := strings.Split(*links, ",")
	switch *links {
	case "":
		t.Skip("-links names no ports: each needs a standard library of its own")
	case "all":
		ports = PortNames(Linked)
	}
	for _, port := range ports {
		t.Run(port, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(port, "/")
			t.Setenv("GOOS", goos)
			t.Setenv("GOARCH", goarch)
			b, err := New(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for name, err := range map[string]error{
				"bank": b.Build(t.Context(), "", filepath.Join(dir, "bank"), nil, "../../examples/bank"),
				"web":  b.Build(t.Context(), "", filepath.Join(dir, "web"), nil, "./testdata/web"),
				"test": b.Command(t.Context(), "test", "-vet=off", "-c", "-o", filepath.Join(dir, "test"), "./testdata/web").Run(),
			} {
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil || !strings.HasPrefix(string(text), formats[goos]) || len(text) < 1<<20 {
					t.Errorf("%s: %d bytes, error %v", name, len(text), err)
				}
			}
		})
	}
}

// TestPorts: other ports are refused, with all that there are, and only for those that were not tried a line says so.
func TestPorts(t *testing.T) {
	for name, untested := range map[string]bool{"linux/amd64": false, "linux/riscv64": false, "windows/amd64": false, "darwin/arm64": true, "linux/386": true, "plan9/arm": true} {
		tc := &Toolchain{}
		tc.GOOS, tc.GOARCH, _ = strings.Cut(name, "/")
		_, err := tc.port()
		known := strings.Contains(strings.Join(PortNames(Linked), " "), name)
		if (err == nil) != known || err != nil && (!errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "freebsd/amd64")) {
			t.Errorf("%s: %v", name, err)
		}
		if line := tc.Untested(); (line != "") != (untested && known) {
			t.Errorf("%s: %q", name, line)
		}
		if err := tc.Connection(); (err == nil) != (tc.GOOS == "darwin" || tc.GOOS == "windows" || tc.GOOS == "linux" && recorder.Used() != recorder.Apart) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMusl builds a program with C against the C library of Alpine, and runs it.
func TestMusl(t *testing.T) {
	const compiler = "musl-gcc"
	if testing.Short() {
		t.Skip("builds what uses C in the standard library once more")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("no musl: %v", err)
	}
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("CC", compiler)
	b, err := New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "web")
	if err := b.Build(t.Context(), "", exe, nil, "./testdata/web"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(exe); err != nil || !strings.Contains(string(text), "ld-musl") {
		t.Errorf("the program is not linked with musl, error %v", err)
	}
	for range 20 { // its handlers may follow each other
		cmd := exec.CommandContext(t.Context(), exe)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() == 66 && strings.Contains(string(out), "testdata/web/main.go:15") {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Error("no race was reported in 20 runs")
}

// TestPortsInDocs: the table of ports in the documents says what Ports says.
func TestPortsInDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Ports {
		if !strings.Contains(string(text), fmt.Sprintf("| %s | %v |", p.Name, p.Trial)) {
			t.Errorf("docs/limits.md does not say of %s that it is %v", p.Name, p.Trial)
		}
	}
}
