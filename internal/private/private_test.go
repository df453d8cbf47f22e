package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// foreign is a folder that belongs to another user. Only root can give one away; for other users, a
// folder of root's is one.
func foreign(t *testing.T) string {
	if os.Geteuid() != 0 {
		return "/usr"
	}
	dir := filepath.Join(t.TempDir(), "foreign")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func chmod(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, name string, mode fs.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(name, 0o777); err != nil {
		t.Fatal(err)
	}
	chmod(t, name, mode)
	return name
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func symlink(t *testing.T, target, name string) string {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func perm(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	other := foreign(t)
	before := perm(t, other)
	for _, test := range []struct{ path, want string }{
		{filepath.Join(dir, "a", "b", "new"), ""},
		{mkdir(t, filepath.Join(dir, "old"), 0o777), ""},
		{mkdir(t, filepath.Join(dir, "sticky", "below"), 0o755), ""},
		{symlink(t, mkdir(t, filepath.Join(dir, "target"), 0o755), filepath.Join(dir, "link")), ""},
		{write(t, filepath.Join(dir, "file"), ""), "is not a folder"},
		{other, "belongs to another user"},
		{filepath.Join(mkdir(t, filepath.Join(dir, "open"), 0o777), "below"), "everybody can exchange"},
		{filepath.Join(dir, "open", "far", "below"), "everybody can exchange"},
		{symlink(t, mkdir(t, filepath.Join(dir, "open", "target"), 0o700), filepath.Join(dir, "there")), "everybody can exchange"},
		{filepath.Join(symlink(t, dir, filepath.Join(dir, "open", "back")), "by-link"), "everybody can exchange"},
		{"/dev/null/nowhere", "not a directory"},
	} {
		chmod(t, filepath.Join(mkdir(t, filepath.Join(dir, "sticky"), 0o777)), 0o777|fs.ModeSticky)
		err := Folder(test.path)
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %v, want %s", test.path, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
		}
		if info, err := os.Stat(test.path); err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", test.path, info, err)
		}
	}
	if perm(t, other) != before {
		t.Errorf("%s has the mode %v now", other, perm(t, other))
	}
}

// TestCache: without a home, with one that cannot be used, and with everything that others can put
// into the folder for temporary files.
func TestCache(t *testing.T) {
	for _, home := range []string{"", "/dev/null"} {
		tmp := mkdir(t, filepath.Join(t.TempDir(), "tmp"), 0o777|fs.ModeSticky)
		t.Setenv("TMPDIR", tmp)
		t.Setenv("XDG_CACHE_HOME", "")
		os.Unsetenv("HOME")
		if home != "" {
			t.Setenv("HOME", home)
		}
		usual := filepath.Join(tmp, fmt.Sprintf("heisen-cache-%d", os.Geteuid()))
		if dir, err := Cache("heisen"); err != nil || dir != usual || perm(t, dir) != fs.ModeDir|0o700 {
			t.Errorf("%q, %v", dir, err)
		}
		if err := os.RemoveAll(usual); err != nil {
			t.Fatal(err)
		}
		for _, plant := range []func(name string){
			func(name string) { write(t, name, "planted") },
			func(name string) { symlink(t, foreign(t), name) },
			func(name string) { symlink(t, "/nowhere", name) },
			func(name string) { symlink(t, name, name) },
			func(name string) {
				if os.Geteuid() == 0 {
					if err := os.Chown(mkdir(t, name, 0o777), 12345, 12345); err != nil {
						t.Fatal(err)
					}
				} else {
					symlink(t, "/usr", name)
				}
			},
		} {
			plant(usual)
			write(t, usual+"-", "planted")
			symlink(t, foreign(t), usual+"-00000000")
			first, err := Cache("heisen")
			second, again := Cache("heisen")
			if err != nil || again != nil || first != second || !strings.HasPrefix(first, usual+"-") || perm(t, first) != fs.ModeDir|0o700 {
				t.Errorf("%q, %v, then %q, %v", first, err, second, again)
			}
			entries, err := os.ReadDir(tmp)
			if err != nil || len(entries) != 4 {
				t.Errorf("%v, %v", entries, err)
			}
			for _, e := range entries {
				os.RemoveAll(filepath.Join(tmp, e.Name()))
			}
		}
	}
}

// TestOpen: only links of one's own, or of root's, are followed.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	real := mkdir(t, filepath.Join(dir, "real"), 0o755)
	own := symlink(t, real, filepath.Join(dir, "own"))
	for _, path := range []string{filepath.Join(dir, "a", "b"), real, own, own + "/"} {
		if err := Open(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := Open(write(t, filepath.Join(dir, "file"), "")); err == nil {
		t.Error("a file is a folder")
	}
	if os.Geteuid() != 0 {
		return // nobody else can make a link of another user's
	}
	theirs := symlink(t, real, filepath.Join(dir, "theirs"))
	if err := os.Lchown(theirs, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{theirs, theirs + "/"} {
		if err := Open(path); err == nil || !strings.Contains(err.Error(), "is a link of another user") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestNewTemporary(t *testing.T) {
	tmp := mkdir(t, filepath.Join(t.TempDir(), "tmp"), 0o777|fs.ModeSticky)
	t.Setenv("TMPDIR", tmp)
	var made []string
	for range 3 {
		folder, err := NewTemporary()
		if err != nil || filepath.Dir(folder.Path) != tmp || len(filepath.Base(folder.Path)) != len(TemporaryName) ||
			perm(t, folder.Path) != fs.ModeDir|0o700 || slices.Contains(made, folder.Path) {
			t.Fatalf("%v, %v", folder, err)
		}
		made = append(made, folder.Path)
	}
	chmod(t, tmp, 0o777)
	if folder, err := NewTemporary(); err == nil || !strings.Contains(err.Error(), "everybody can exchange what is in "+tmp) {
		t.Errorf("%v, %v", folder, err)
	}
	t.Setenv(trustEnv, "1")
	if folder, err := NewTemporary(); err != nil || perm(t, folder.Path) != fs.ModeDir|0o700 {
		t.Errorf("trusting everybody: %v, %v", folder, err)
	}
	t.Setenv("TMPDIR", filepath.Join(tmp, "none"))
	if folder, err := NewTemporary(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", folder, err)
	}
}

// TestOwn: in a folder of the user's own, links lead on, and what fails leaves the old file.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	real := write(t, filepath.Join(dir, "real"), "old")
	link := symlink(t, real, filepath.Join(dir, "link"))
	text := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	if err := Replace(link, text); err != nil || read(t, real) != "new" || perm(t, link).Type() != fs.ModeSymlink {
		t.Errorf("link: %v", err)
	}
	failed := errors.New("failed")
	if err := Replace(real, func(w io.Writer) error { io.WriteString(w, "half"); return failed }); !errors.Is(err, failed) || read(t, real) != "new" {
		t.Errorf("failure: %v, %q", err, read(t, real))
	}
	if err := Replace("/dev/null", text); err != nil || perm(t, "/dev/null")&fs.ModeDevice == 0 {
		t.Errorf("device: %v", err)
	}
	if err := Replace("/dev/full", text); err == nil {
		t.Error("full: no error")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestPut(t *testing.T) {
	dir := t.TempDir()
	content := []byte("text")
	name := func(s string) string { return filepath.Join(dir, s) }
	for file, want := range map[string]bool{
		write(t, name("same"), "text"):         true,
		write(t, name("other"), "tex"):         false,
		name("none"):                           false,
		symlink(t, name("same"), name("link")): false,
		mkdir(t, name("folder"), 0o700):        false,
		func() string { write(t, name("open"), "text"); chmod(t, name("open"), 0o666); return name("open") }(): false,
	} {
		if unchanged(file, content) != want {
			t.Errorf("%s: %v", file, !want)
		}
	}
	if err := os.Link(name("same"), name("again")); err != nil {
		t.Fatal(err)
	}
	if unchanged(name("same"), content) {
		t.Error("a file with another name is taken for unchangeable")
	}
	for _, file := range []string{"same", "other", "none", "link", "open"} {
		if err := Put(name(file), content); err != nil || !unchanged(name(file), content) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := Put(name("folder"), content); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 7 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestRead: only files are read, no links, and not more than the limit.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(file, 4); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read(file, 3); err == nil {
		t.Error("more than the limit is read")
	}
	if _, err := Read(dir, 4); err == nil {
		t.Error("a folder is read")
	}
	if _, err := Read(filepath.Join(dir, "none"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file, the error is %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err == nil {
		if _, err := Read(link, 4); err == nil {
			t.Error("a link is followed")
		}
	}
}

// TestReadWhilePut: a file that processes replace is read, before or after.
func TestReadWhilePut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := Put(file, []byte{byte('0' + i%10)}); err != nil && runtime.GOOS != "windows" {
				t.Error(err)
			}
		}
	})
	for range 5000 {
		if text, err := Read(file, 4); runtime.GOOS != "windows" && (err != nil || len(text) != 1) {
			t.Errorf("%q, %v", text, err)
			break
		}
	}
	close(stop)
	writer.Wait()
}
