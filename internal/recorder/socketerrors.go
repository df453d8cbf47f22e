//go:build !plan9 && !windows

package recorder

import (
	"errors"
	"syscall"
)

// hungUp reports whether an error of reading means that the other side has closed the connection: it does so
// with this error if it had an answer to read.
func hungUp(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

// tooManyOpen reports whether an error means that there are too many open files at the moment.
func tooManyOpen(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
