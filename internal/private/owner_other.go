//go:build windows || plan9

package private

import (
	"errors"
	"io/fs"
)

// Here package os does not say who owns a file and who else may change it. Heisen relies on the place: the
// user's cache folder and the folder for temporary files are below the user's own.

// invalid is the error of what a file of this kind does not do.
var invalid = errors.ErrUnsupported

func permissions(fs.FileInfo) fs.FileMode { return 0 }

func own(fs.FileInfo) bool { return true }

func mine(fs.FileInfo) bool { return true }

func links(fs.FileInfo) uint64 { return 1 }
