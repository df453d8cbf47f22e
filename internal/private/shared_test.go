//go:build unix

package private

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestShared: in a folder that everybody may write to, nothing is written through a link, or to a
// file that has other names.
func TestShared(t *testing.T) {
	shared := mkdir(t, filepath.Join(t.TempDir(), "shared"), 0o777|fs.ModeSticky)
	mine := t.TempDir()
	victim := write(t, filepath.Join(mine, "victim"), "precious")
	for name, plant := range map[string]func(name string){
		"none":     func(string) {},
		"own file": func(name string) { write(t, name, "a longer old text") },
		"symlink":  func(name string) { symlink(t, victim, name) },
		"dangling": func(name string) { symlink(t, filepath.Join(mine, "new"), name) },
		"hard link": func(name string) {
			if err := os.Link(victim, name); err != nil {
				t.Fatal(err)
			}
		},
		"pipe": func(name string) {
			if os.Geteuid() == 0 { // another user reads it
				if err := errors.Join(syscall.Mkfifo(name, 0o666), os.Chown(name, 12345, 12345)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"foreign file": func(name string) {
			if os.Geteuid() == 0 {
				if err := os.Chown(write(t, name, "planted"), 12345, 12345); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		for _, how := range []struct {
			name  string
			write func(name, text string) error
		}{
			{"Create", func(name, text string) error {
				f, err := Create(name)
				if err != nil {
					return err
				}
				_, err = f.WriteString(text)
				return errors.Join(err, f.Close())
			}},
			{"Replace", func(name, text string) error {
				return Replace(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
			}},
		} {
			out := filepath.Join(shared, "out")
			plant(out)
			if err := how.write(out, "result"); err != nil {
				t.Errorf("%s, %s: %v", how.name, name, err)
			}
			if info, err := os.Lstat(out); err != nil || !plain(info) || read(t, out) != "result" {
				t.Errorf("%s, %s: %v, %v", how.name, name, info, err)
			}
			if entries, err := os.ReadDir(shared); err != nil || len(entries) != 1 {
				t.Errorf("%s, %s: %v, %v", how.name, name, entries, err)
			}
			if _, err := os.Lstat(filepath.Join(mine, "new")); read(t, victim) != "precious" || !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("%s, %s: written through", how.name, name)
			}
			if err := os.Remove(out); err != nil {
				t.Fatal(err)
			}
		}
	}
}
