package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeclarations: the declarations that patches change are found, also in another GOROOT.
func TestDeclarations(t *testing.T) {
	toolchain, err := FindToolchain(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Declarations(toolchain.Root)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]Declaration{}
	for _, d := range all {
		known[d.File+" "+d.Name] = d
	}
	for _, want := range []string{"runtime/proc.go findRunnable", "internal/sync/mutex.go Mutex.Lock", "sync/once.go Once.doSlow", "runtime/proc.go randomizeScheduler"} {
		if d, ok := known[want]; !ok || d.Text == "" {
			t.Errorf("no %s", want)
		}
	}
	if _, ok := known["runtime/proc.go schedinit"]; ok {
		t.Error("schedinit is not patched")
	}

	d := known["sync/once.go Once.doSlow"]
	other := t.TempDir()
	if text, err := d.In(other); text != "" || err != nil {
		t.Errorf("in a folder without files: %q, error %v", text, err)
	}
	name := filepath.Join(other, "src", "sync", "once.go")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("package sync\n\nfunc (o *Once) doSlow() { another() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := d.In(other); !strings.Contains(text, "another()") || err != nil {
		t.Errorf("in another file: %q, error %v", text, err)
	}
	if err := os.WriteFile(name, []byte("package"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.In(other); err == nil {
		t.Error("no error about a file that is no Go")
	}
}
