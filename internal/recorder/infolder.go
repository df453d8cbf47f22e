//go:build !windows

package recorder

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/heisen-go/heisen/internal/private"
)

// listenInFolder makes an entrance in a new temporary folder.
func listenInFolder[E entrance](enter func(path string) (E, error)) (*Listener, error) {
	base := os.TempDir()
	if len(base)+len("/"+private.TemporaryName+"/events") > maxSocketName {
		base = "/tmp"
	}
	folder, err := private.NewTemporaryIn(base)
	if err != nil {
		return nil, err
	}
	e, err := enter(filepath.Join(folder.Path, "events"))
	if err != nil {
		return nil, errors.Join(err, folder.Remove())
	}
	return &Listener{folder: folder, entrance: e}, nil
}

// maxSocketName is the longest name of a socket on all systems: Linux allows four bytes more than others.
const maxSocketName = 103

// How often, and how long in between, Accept tries again.
const (
	acceptTries = 1000
	acceptPause = 10 * time.Millisecond
)

// withDescriptors calls f, and again for a while as long as there are too many open files.
func withDescriptors[T any](f func() (T, error)) (v T, err error) {
	v, err = f()
	for tries := 0; tries < acceptTries && tooManyOpen(err); tries++ {
		time.Sleep(acceptPause)
		v, err = f()
	}
	return v, err
}
