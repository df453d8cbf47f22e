package controlled

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWorkplaces: executions one after the other have the same folder, unless one has left something of it changed, and an
// entrance at a path that none has had.
func TestWorkplaces(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w := &workplaces{}
	use := func(spoil func(folder string)) workplace {
		p, err := w.take()
		if err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(p.temporary.path); err != nil || len(entries) > 0 {
			t.Errorf("%v in the folder, error %v", entries, err)
		}
		if info, err := os.Stat(p.temporary.path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, error %v", info, err)
		}
		ended := make(chan bool)
		go func() {
			defer close(ended)
			p.listener.Accept()
		}()
		spoil(p.temporary.path)
		p.listener.Stop()
		<-ended
		w.putBack(p)
		return p
	}
	seen := map[string]bool{}
	length := 0
	for _, spoil := range []func(string){
		func(string) {},
		func(string) {},
		func(folder string) { os.WriteFile(filepath.Join(folder, "left"), nil, 0o600) },
		func(folder string) { os.Chmod(folder, 0o500) },
		func(folder string) { os.Remove(folder) },
		func(folder string) {
			os.Remove(folder)
			os.Mkdir(folder, 0o700)
		},
		func(string) {},
	} {
		p := use(spoil)
		env := p.listener.Env()
		if seen[env] || length != 0 && len(env) != length {
			t.Errorf("entrance %s after %v", env, seen)
		}
		seen[env], length = true, len(env)
	}
	kept, _ := w.take()
	other := use(func(string) {})
	w.close()
	if _, err := os.Stat(other.temporary.path); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", other.temporary.path, err)
	}
	w.putBack(kept)
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, error %v", left, err)
	}
}
