//go:build unix && !solaris

package measure

import (
	"os"
	"runtime"
	"syscall"
)

// PeakMemory returns how many bytes a process that has ended had in memory at most, itself or one of its children; 0 if that
// is not known.
func PeakMemory(state *os.ProcessState) int64 {
	used, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(used.Maxrss)
	}
	return int64(used.Maxrss) * 1024
}
