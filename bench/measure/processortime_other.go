//go:build !unix

package measure

import (
	"runtime/metrics"
	"time"
)

// ProcessorTimeWithChildren returns ProcessorTime: that of child processes is not known.
func ProcessorTimeWithChildren() time.Duration { return ProcessorTime() }

// ProcessorTime returns about the processor time of this process up to its last garbage collection. Package
// runtime estimates it on systems that package syscall cannot ask.
func ProcessorTime() time.Duration {
	used := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(used)
	return time.Duration((used[0].Value.Float64() - used[1].Value.Float64()) * float64(time.Second))
}
