package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Create is os.Create, but where other users could have prepared something under the name, in a
// folder that is not the user's or that everybody may write to, it neither follows a link nor writes
// to a file of theirs: it replaces them.
func Create(name string) (*os.File, error) {
	folder, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if own(folder) && permissions(folder)&0o002 == 0 {
		return os.Create(name)
	}
	const flags = os.O_WRONLY | os.O_CREATE | noFollow
	if info, err := os.Lstat(name); err == nil && plain(info) {
		f, err := os.OpenFile(name, flags, 0o666)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err != nil || !plain(info) {
			return nil, errors.Join(fmt.Errorf("%s: another user exchanges it", name), f.Close())
		}
		return f, truncate(f)
	} else if err == nil {
		if err := os.Remove(name); err != nil {
			return nil, fmt.Errorf("%s, which belongs to another user or is a link, is in the way: %w", name, err)
		}
	}
	return os.OpenFile(name, flags|os.O_EXCL, 0o666)
}

// plain reports whether a file belongs to the user, and is neither a link nor has other names.
func plain(info fs.FileInfo) bool {
	return info.Mode().Type() != fs.ModeSymlink && mine(info) && links(info) == 1
}

// truncate empties a file; devices and pipes have nothing to lose.
func truncate(f *os.File) error {
	if err := f.Truncate(0); err != nil && !errors.Is(err, invalid) {
		return errors.Join(err, f.Close())
	}
	return nil
}

// Read returns the content of a file that another user cannot have prepared: a regular file of this user or of root, and no link. Its size is at
// most limit.
func Read(name string, limit int64) ([]byte, error) {
	for range 100 {
		content, exchanged, err := tryRead(name, limit)
		if !exchanged {
			return content, err
		}
	}
	return nil, fmt.Errorf("%s: somebody exchanges it again and again", name)
}

// tryRead is Read, once. exchanged means that another file got the name meanwhile, as Put and Replace do it.
func tryRead(name string, limit int64) (content []byte, exchanged bool, err error) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, fmt.Errorf("%s is not a file", name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	opened, err := f.Stat()
	switch {
	case err != nil:
		return nil, false, err
	case !os.SameFile(info, opened):
		return nil, true, nil
	case !own(opened):
		return nil, false, fmt.Errorf("%s belongs to another user", name)
	}
	content, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return content, false, err
}

// Replace replaces a file atomically by what write writes. After an error the old file remains.
// Links, devices and pipes are not replaced: what is written goes to them.
func Replace(name string, write func(io.Writer) error) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		f, err := Create(name)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	return exchange(name, 0o666, write)
}

// Put makes sure that the file name in a private folder has the given content, and that only the
// user can change that. A partially written file is never visible.
func Put(name string, content []byte) error {
	if unchanged(name, content) {
		return nil
	}
	err := exchange(name, 0o600, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil && unchanged(name, content) { // Windows replaces no file that somebody reads, such as one that has just come
		return nil
	}
	return err
}

// exchange puts a new file in the place of whatever has the name.
func exchange(name string, perm fs.FileMode, write func(io.Writer) error) error {
	f, err := beside(name, perm)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// beside creates a new file in the folder of name.
func beside(name string, perm fs.FileMode) (f *os.File, err error) {
	for range 1000 {
		f, err = os.OpenFile(fmt.Sprintf("%s.%08x.new", name, rand.Uint32()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// unchanged reports whether the file name has the content and only the user can change that.
func unchanged(name string, content []byte) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || !plain(info) || permissions(info)&0o022 != 0 {
		return false
	}
	old, err := os.ReadFile(name)
	return err == nil && string(old) == string(content)
}
