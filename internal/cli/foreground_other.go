//go:build !linux

package cli

import (
	"errors"
	"os"
)

// foregroundGroup is not known: programs run only on Linux.
func foregroundGroup(*os.File) (group int, err error) { return 0, errors.ErrUnsupported }
