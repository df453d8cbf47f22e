//go:build !windows

package cli

import "os"

// takesSequences returns true: terminals do.
func takesSequences(*os.File) bool { return true }
