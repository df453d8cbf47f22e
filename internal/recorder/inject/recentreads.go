//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// Reads that the first entry of a cell does not make redundant are expensive: the other entries are
// in memory of their own, and those of a word that many goroutines read are in a set that has to be
// searched. So each P remembers the addresses of such reads. A read of one of them in the same epoch
// is redundant, and nothing of the cell but its first entry is loaded.
//
// This is READ SAME EPOCH without a look at the entry, so the entry must still be there, or
// something in its place that makes the read redundant as well:
//
//   - The goroutine itself replaces the entry only by that of a write in the same epoch, or of a
//     later read of it.
//   - Another goroutine removes the entry only by a write. That write is ordered after no epoch that
//     counts as the current one of this goroutine, so it races with the read, and the race is
//     reported. Reports make everything that is remembered void.
//   - Cells are cleared when their memory is allocated again. Memory becomes free at the end of a
//     mark phase, which also makes everything void.

// heisenRecentReads are reads that were recorded on a P, in a direct-mapped cache. An entry is an
// address of 48 bits, and the number of the span of time in which it was read: all in it was done by
// one goroutine, whose same-epoch range began with since.
type heisenRecentReads struct {
	span    uint64 // its number
	since   uint64 // heisenNoSince if the next read begins a new span
	reports uint32 // the value of heisenReports in this span
	at      [1 << heisenRecentReadBits]uint64
}

const (
	heisenRecentReadBits = 10
	heisenRecentSpanBits = 16
	heisenNoSince        = 1<<64 - 1
)

// heisenReports counts reported races, the repeated ones included.
var heisenReports atomic.Uint32

// find returns the entry of a read of h, which is the current goroutine, and its value if it is
// there.
//
//go:nosplit
func (r *heisenRecentReads) find(h *heisenG, addr uintptr) (at *uint64, value uint64) {
	if h.order.Since() != r.since || heisenReports.Load() != r.reports {
		r.begin(h)
	}
	return &r.at[uint64(addr)*0x9E3779B97F4A7C15>>(64-heisenRecentReadBits)], uint64(addr)<<heisenRecentSpanBits | r.span
}

// begin begins a span of h.
//
//go:nosplit
func (r *heisenRecentReads) begin(h *heisenG) {
	r.since, r.reports = h.order.Since(), heisenReports.Load()
	r.span++
	if r.span == 1<<heisenRecentSpanBits {
		clear(r.at[:])
		r.span = 1
	}
}

// heisenForgetReads makes what all Ps remember void. The world is stopped.
func heisenForgetReads() {
	for _, b := range &heisenAllBufs {
		if b != nil {
			b.reads.since = heisenNoSince
		}
	}
}
