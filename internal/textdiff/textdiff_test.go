package textdiff

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestApply: git apply, in the folder of a module, changes the files of the module. This is so if the
// folder is the top of a git repository, if it is below, and if there is no repository.
func TestApply(t *testing.T) {
	before, after := []byte("one\ntwo\nthree\n"), []byte("one\n2\nthree\n")
	for _, where := range []string{"top", "below", "none"} {
		for _, name := range []string{"a.go", "p/a.go", "p q/a b.go"} {
			repository := t.TempDir()
			git := func(dir string, args ...string) {
				t.Helper()
				cmd := exec.Command("git", args...)
				cmd.Dir = dir
				cmd.Env = append(cmd.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(repository))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			module := repository
			if where != "none" {
				git(repository, "init", "-q")
			}
			if where == "below" {
				module = filepath.Join(repository, "services", "mail")
			}
			file := filepath.Join(module, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, before, 0o666); err != nil {
				t.Fatal(err)
			}
			var diff bytes.Buffer
			if err := Write(&diff, name, before, after); err != nil {
				t.Fatal(err)
			}
			patch := filepath.Join(t.TempDir(), "fix.patch")
			if err := os.WriteFile(patch, diff.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			git(module, "apply", patch)
			if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, after) {
				t.Errorf("%s, %s: after git apply the file is %q, %v", where, name, text, err)
			}
		}
	}
}
