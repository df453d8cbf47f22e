//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package private

import (
	"errors"
	"os"
)

const (
	RemovesOpen  = false // whether an open folder can be removed
	LocksFolders = false // whether TryLock can lock a folder
)

// openFolder opens a folder.
func openFolder(path string) (*os.File, error) { return os.Open(path) }

// TryLock returns errors.ErrUnsupported: folders cannot be locked here. So nobody removes the folder of another
// process.
func TryLock(*os.File) error { return errors.ErrUnsupported }
