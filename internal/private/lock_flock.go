//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package private

import (
	"errors"
	"os"
	"syscall"
)

const (
	RemovesOpen  = true // whether an open folder can be removed
	LocksFolders = true // whether TryLock can lock a folder
)

// openFolder opens a folder. It follows no link.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
}

// TryLock locks an open file or folder until it is closed. The error wraps ErrLocked if another open file has
// the lock. Other errors mean that nobody can lock it.
func TryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
