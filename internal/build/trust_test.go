package build

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPlanted: what others have put into the cache while they could is not used. This runs no go
// command of theirs and compiles no file of theirs.
func TestPlanted(t *testing.T) {
	write := func(name, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
		return name
	}
	modules := t.TempDir()
	real := filepath.Join(modules, "golang.org", "toolchain@v0.0.1-go1.26.8")
	write(filepath.Join(real, "bin", "go"), "the real one")
	planted := filepath.Dir(filepath.Dir(write(filepath.Join(t.TempDir(), "bin", "go"), "planted")))
	link := func(dir string) (goCommand string) {
		t.Helper()
		toolchain := Toolchain{Root: real, Version: "go1.26.8", modules: modules}
		if err := toolchain.leaveModules(dir); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(toolchain.Go)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	dir := t.TempDir()
	link(dir)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	name := filepath.Join(dir, entries[0].Name())
	for _, target := range []string{planted, "/nowhere", ""} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if target == "" {
			write(name, "a plain file")
		} else if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
		if got := link(dir); got != "the real one" {
			t.Errorf("a link to %q leads to %s", target, got)
		}
	}

	o := overlay{"runtime/a.go": []byte("package runtime\n")}
	description, err := o.write(dir, real)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(description)
	file := filepath.Join(folder, "runtime_a.go")
	elsewhere := filepath.Join(t.TempDir(), "a.go")
	for what, plant := range map[string]func() error{
		"another text":   func() error { return os.WriteFile(file, []byte("package planted\n"), 0o600) },
		"an open folder": func() error { return os.Chmod(folder, 0o777) },
		"an open file":   func() error { return os.Chmod(file, 0o666) },
		"a link": func() error {
			write(elsewhere, "package runtime\n")
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.Symlink(elsewhere, file)
		},
		"another name": func() error { return os.Link(file, elsewhere+".hard") },
		"another description": func() error {
			return os.WriteFile(description, []byte(`{"Replace":{}}`), 0o600)
		},
	} {
		wanted, err := os.ReadFile(description)
		if err != nil {
			t.Fatal(err)
		}
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		if again, err := o.write(dir, real); err != nil || again != description {
			t.Fatalf("%s: %s, %v", what, again, err)
		}
		text, err := os.ReadFile(file)
		info, lerr := os.Lstat(file)
		if err != nil || lerr != nil || string(text) != "package runtime\n" || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s: %q, %v, %v, %v", what, text, info, err, lerr)
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", what, info, err)
		}
		if got, err := os.ReadFile(description); err != nil || string(got) != string(wanted) {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
}
