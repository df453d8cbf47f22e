package controlled

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/heisen-go/heisen/internal/private"
)

// folder is where an execution has its temporary files. Executions run side by side and have the same random
// numbers, so in one folder they would get in each other's way. The names are few and short: they are part of the
// environment, which is to be the same in each execution, and of the names of sockets.
type folder struct {
	path string
	lock *os.File // the folder, locked
}

// maxFolders bounds the executions at a time of all that the user runs.
const maxFolders = 1000

// takeFolder takes the first folder that no execution has. It is empty.
func takeFolder() (*folder, error) {
	var failed error
	for n := 0; n < maxFolders; {
		path := filepath.Join(os.TempDir(), fmt.Sprintf("h%d.%03d", os.Geteuid(), n))
		made := os.Mkdir(path, 0o700) == nil
		if !made && !private.LocksFolders { // it may have a user, who cannot remove it while it is open here
			n++
			continue
		}
		if err := private.Folder(path); err != nil { // what others have put there is no obstacle
			failed = err
			n++
			continue
		}
		lock, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its last user has just removed it
		}
		if err != nil {
			return nil, err
		}
		if err := private.TryLock(lock); err != nil && !(made && errors.Is(err, errors.ErrUnsupported)) {
			lock.Close()
			n++
			continue
		}
		f := &folder{path, lock}
		if !f.stands() {
			lock.Close()
			continue
		}
		if made {
			return f, nil
		}
		return f, f.clear() // of an execution that nobody has cleaned up after
	}
	return nil, errors.Join(errors.New("there is no folder for temporary files, or too many executions run at the same time"), failed)
}

// stands reports whether the locked folder is still the one at its path.
func (f *folder) stands() bool {
	there, err := os.Lstat(f.path)
	if err != nil {
		return false
	}
	locked, err := f.lock.Stat()
	return err == nil && os.SameFile(there, locked)
}

// untouched reports whether the folder is as it was made.
func (f *folder) untouched() bool {
	info, err := f.lock.Stat()
	if err != nil || info.Mode() != fs.ModeDir|0o700 || !f.stands() {
		return false
	}
	if _, err := f.lock.Seek(0, io.SeekStart); err != nil {
		return false
	}
	_, err = f.lock.Readdirnames(1)
	return err == io.EOF
}

// clear removes what is in the folder.
func (f *folder) clear() error {
	entries, err := os.ReadDir(f.path)
	for _, e := range entries {
		err = errors.Join(err, removeAll(filepath.Join(f.path, e.Name())))
	}
	return err
}

// release removes the folder.
func (f *folder) release() {
	if private.RemovesOpen {
		defer f.lock.Close()
	} else {
		f.lock.Close()
	}
	removeAll(f.path)
}

// removeAll removes a file or folder, also one with folders that may not be changed.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// env returns the environment variable that names the folder.
func (f *folder) env() string {
	if runtime.GOOS == "windows" {
		return "TMP=" + f.path
	}
	return "TMPDIR=" + f.path
}

// hide replaces the name of the folder in what a program has printed by that of the usual one. So executions that
// print it end in the same way.
func (f *folder) hide(printed []byte) []byte {
	return bytes.ReplaceAll(printed, []byte(f.path), []byte(os.TempDir()))
}
