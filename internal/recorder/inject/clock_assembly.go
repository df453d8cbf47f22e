//go:build heisen_inject && ((linux && amd64) || windows)

package runtime

import _ "unsafe" // for go:linkname

// This file has the clock of package time where the runtime implements it in assembly,
// which is patched to be called heisenClock. It runs on the goroutine's stack.

// heisenClock is the clock of package time in runs that are not deterministic.
func heisenClock() (sec int64, nsec int32, mono int64)

//go:linkname time_now time.now
func time_now() (sec int64, nsec int32, mono int64) {
	if heisenSched.on {
		return heisenNow()
	}
	return heisenClock()
}
