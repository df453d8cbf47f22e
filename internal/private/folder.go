// Package private makes folders and files that other users of the machine cannot change.
//
// A folder is private if it belongs to the present user and nobody else has access to it. That
// does not suffice where others can exchange it for another one: in a folder that everybody may
// write to, without the sticky bit. The owners of the folders above are trusted, and so are groups
// that they let write. With the environment variable HEISEN_TRUST_TMPDIR, everybody is: containers
// often have such folders, and no other users.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Folder makes the folder at path, and those above, unless it exists. It makes sure that the folder
// is private: one that belongs to the user but is open to others loses their permissions. A link
// counts as the folder that it leads to if it belongs to the user.
func Folder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	if err := stays(parent); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink && mine(info) {
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		return Folder(target)
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case !mine(info):
		return fmt.Errorf("%s belongs to another user", path)
	case permissions(info)&0o077 != 0:
		return os.Chmod(path, 0o700)
	}
	return nil
}

// Open makes a folder that others may look into, and those above, unless it exists. It follows no
// link that belongs to another user.
func Open(path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	info, err := os.Lstat(filepath.Clean(path))
	if err == nil && info.Mode().Type() == fs.ModeSymlink && !own(info) {
		return fmt.Errorf("%s is a link of another user", path)
	}
	return err
}

// numbered makes a new private folder whose name is the prefix and eight hexadecimal digits.
func numbered(base, prefix string) (dir string, err error) {
	if err := stays(base); err != nil {
		return "", fmt.Errorf("folder for temporary files: %w", err)
	}
	for range 1000 {
		dir = filepath.Join(base, fmt.Sprintf("%s%08x", prefix, rand.Uint32()))
		if err = os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return dir, err
}

// Cache returns a private folder of the given name for files that are worth keeping: in the user's
// cache folder if possible, or else among the temporary files. What others have put there is no
// obstacle.
func Cache(name string) (string, error) {
	if base, err := os.UserCacheDir(); err == nil {
		if dir := filepath.Join(base, name); Folder(dir) == nil {
			return dir, nil
		}
	}
	base, prefix := os.TempDir(), fmt.Sprintf("%s-cache-%d", name, os.Geteuid())
	if dir := filepath.Join(base, prefix); Folder(dir) == nil {
		return dir, nil
	}
	prefix += "-"
	entries, err := os.ReadDir(base)
	for _, e := range entries { // one that was made in the same situation
		if dir := filepath.Join(base, e.Name()); strings.HasPrefix(e.Name(), prefix) && e.IsDir() && Folder(dir) == nil {
			return dir, nil
		}
	}
	dir, failed := numbered(base, prefix)
	if failed != nil {
		return "", errors.Join(failed, err)
	}
	return dir, nil
}

// trustEnv is set by users that trust everybody who can write to the folders above theirs.
const trustEnv = "HEISEN_TRUST_TMPDIR"

// stays returns an error if everybody could exchange a folder, or one above it, for another one.
func stays(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for _, at := range []string{dir, resolved} { // the places of links count, too
		for {
			info, err := os.Stat(at)
			if err != nil {
				return err
			}
			if permissions(info)&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 && os.Getenv(trustEnv) == "" {
				return fmt.Errorf("everybody can exchange what is in %s (prevent that with chmod +t, or set %s=1 if you trust everybody)", at, trustEnv)
			}
			above := filepath.Dir(at)
			if above == at {
				break
			}
			at = above
		}
	}
	return nil
}

// Trust returns an error if a folder that exists belongs to another user than this one and root, or others could
// exchange it for another one.
func Trust(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !own(info) {
		return fmt.Errorf("%s belongs to another user", path)
	}
	return stays(path)
}
