//go:build !windows

package recorder

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// checkGone checks that nothing of a listener that was closed is left.
func checkGone(t *testing.T, l *Listener) {
	t.Helper()
	if _, err := os.Stat(filepath.Dir(l.entrance.address())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder of the entrance: %v", err)
	}
}
