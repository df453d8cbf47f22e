//go:build heisen_inject

package runtime

import _ "unsafe" // for go:linkname

// heisenClock is what package time's clock is otherwise.
func heisenClock() (sec int64, nsec int32, mono int64)

//go:linkname time_now time.now
func time_now() (sec int64, nsec int32, mono int64) {
	if heisenSched.on {
		return heisenNow()
	}
	return heisenClock()
}
