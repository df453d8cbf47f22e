package controlled

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestFolders: executions at the same time have different folders, and the next ones the same again, empty.
func TestFolders(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	take := func() *folder {
		f, err := takeFolder()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := take(), take()
	if first.path == second.path || len(first.env()) != len(second.env()) {
		t.Errorf("%s and %s", first.env(), second.env())
	}
	locked := filepath.Join(first.path, "a", "b")
	if err := os.MkdirAll(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(locked, "c"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	first.release()
	if _, err := os.Stat(first.path); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", first.path, err)
	}
	// Nobody has cleaned up after this one.
	if err := os.MkdirAll(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	again := take()
	if again.path != first.path {
		t.Errorf("%s in place of %s", again.path, first.path)
	}
	if entries, err := os.ReadDir(again.path); err != nil || len(entries) > 0 {
		t.Errorf("%v in a new folder, error %v", entries, err)
	}
	again.release()
	second.release()
}

// TestFoldersTaken: executions that take folders at any time get one of their own, and leave none behind.
func TestFoldersTaken(t *testing.T) {
	usual := t.TempDir()
	t.Setenv("TMPDIR", usual)
	t.Setenv("TMP", usual)
	var used sync.Map
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				f, err := takeFolder()
				if err != nil {
					t.Error(err)
					return
				}
				if _, taken := used.LoadOrStore(f.path, true); taken {
					t.Errorf("%s is another one's", f.path)
				}
				used.Delete(f.path)
				f.release()
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(usual); err != nil || len(left) > 0 {
		t.Errorf("%v are left, error %v", left, err)
	}
}

// TestFolderHidden: what a program prints has the usual name of the folder.
func TestFolderHidden(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f, err := takeFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	if got, want := string(f.hide([]byte("open "+f.path+"/x: denied"))), "open "+os.TempDir()+"/x: denied"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
