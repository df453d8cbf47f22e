//go:build !windows && !plan9 && !js

package private

import "syscall"

// noFollow makes opening a link an error.
const noFollow = syscall.O_NOFOLLOW
