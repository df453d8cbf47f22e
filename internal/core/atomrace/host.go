package atomrace

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// What core.go needs of its host. In package runtime a release store is a plain one
// on most processors, and to pause is to yield the processor.

//go:nosplit
func storeRelease(x *atomic.Uint64, v uint64) { x.Store(v) }

//go:nosplit
func storeRelease32(x *atomic.Uint32, v uint32) { x.Store(v) }

//go:nosplit
func lowestBit(x uint32) uint32 { return uint32(bits.TrailingZeros32(x)) }

// pauseSpinning is called between attempts to see what another thread is about to
// finish writing.
func pauseSpinning() { runtime.Gosched() }
