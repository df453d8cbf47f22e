package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Temporary is a private folder for temporary files. The process that has made it holds a lock on it. When the process
// ends, however it ends, the kernel gives up the lock; RemoveAbandoned removes folders without one.
type Temporary struct {
	Path string
	lock *os.File // the folder itself
}

// temporaryPrefix is what names of these folders begin with. Eight hexadecimal digits follow.
const temporaryPrefix = "heisen-temp-"

// TemporaryName is a name of the length that the name of every temporary folder has.
const TemporaryName = temporaryPrefix + "00000000"

// NewTemporary makes a folder below the usual folder for temporary files.
func NewTemporary() (*Temporary, error) { return NewTemporaryIn(os.TempDir()) }

// NewTemporaryIn makes a folder below base.
func NewTemporaryIn(base string) (*Temporary, error) {
	for range 1000 {
		path, err := numbered(base, temporaryPrefix)
		if err != nil {
			return nil, err
		}
		t, err := lock(path)
		if !errors.Is(err, errLost) {
			if err != nil {
				os.Remove(path)
			}
			return t, err
		}
	}
	return nil, fmt.Errorf("%s: temporary folders are removed as soon as they are made", base)
}

// errLost means that another process has locked or removed a folder.
var errLost = errors.New("the folder is locked or was removed")

// lock locks a folder. A file system without locks is no error: nobody can lock the folder to remove it.
func lock(path string) (*Temporary, error) {
	f, err := openFolder(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLost
	}
	if err != nil {
		return nil, err
	}
	t := &Temporary{path, f}
	if err := TryLock(f); errors.Is(err, ErrLocked) {
		f.Close()
		return nil, errLost
	}
	if !t.stands() {
		f.Close()
		return nil, errLost
	}
	return t, nil
}

// stands reports whether the path leads to the folder that is locked.
func (t *Temporary) stands() bool {
	locked, err := t.lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(t.Path)
	return err == nil && os.SameFile(locked, named)
}

// Remove removes the folder with everything in it.
func (t *Temporary) Remove() error {
	if t == nil {
		return nil
	}
	if !RemovesOpen {
		return errors.Join(t.lock.Close(), os.RemoveAll(t.Path))
	}
	return errors.Join(os.RemoveAll(t.Path), t.lock.Close())
}

// RemoveAbandoned removes the temporary folders of the user below base whose makers have ended without doing so, unless
// a program in them still runs. What cannot be removed stays: another process may be removing it.
func RemoveAbandoned(base string) {
	names, err := filepath.Glob(filepath.Join(escape(base), temporaryPrefix+strings.Repeat("[0-9a-f]", 8)))
	if err != nil || len(names) == 0 {
		return
	}
	running := executables()
	for _, name := range names {
		if info, err := os.Lstat(name); err != nil || !info.IsDir() || !mine(info) {
			continue
		}
		if running == nil || running.below(name) {
			continue
		}
		removeIfFree(name)
	}
}

// removeIfFree removes a folder that nobody has locked. On a file system without locks it does nothing.
func removeIfFree(path string) {
	f, err := openFolder(path)
	if err != nil {
		return
	}
	defer f.Close()
	if TryLock(f) == nil && (&Temporary{path, f}).stands() {
		os.RemoveAll(path)
	}
}

// escape makes a path stand for itself in a pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// programs has the executables of the processes that run, as far as the user may know them.
type programs []string

// executables returns the programs that run, nil if that cannot be found out.
func executables() programs {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil || len(links) == 0 {
		return nil
	}
	all := programs{}
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil {
			all = append(all, path)
		}
	}
	return all
}

// below reports whether a program is in a folder.
func (p programs) below(folder string) bool {
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	}
	for _, path := range p {
		if strings.HasPrefix(path, folder+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// ErrLocked means that another process has locked a file.
var ErrLocked = errors.New("another process has locked it")
