package atomrace

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// The injected files need these functions from their host. In package runtime, a release store is a
// plain store on most processors, and pauseSpinning yields the processor.

//go:nosplit
func storeRelease(x *atomic.Uint64, v uint64) { x.Store(v) }

//go:nosplit
func storeRelease32(x *atomic.Uint32, v uint32) { x.Store(v) }

//go:nosplit
func lowestBit(x uint32) uint32 { return uint32(bits.TrailingZeros32(x)) }

// pauseSpinning is called between attempts to read what another thread is about to finish writing.
func pauseSpinning() { runtime.Gosched() }
