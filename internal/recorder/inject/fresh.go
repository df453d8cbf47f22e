//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// Noise at any access passes over fresh words: those that only the goroutine which has allocated them
// has accessed. Nothing can overlap with such an access. A wait there would only keep the goroutine
// from starting others, so that these run one after the other.

const (
	heisenFreshBits   = 16
	heisenFreshIDBits = 19 // of the number of a goroutine that are kept
	// heisenFreshSize is the number of bytes of an object that may be fresh, from its start.
	heisenFreshSize = 256
)

// heisenFresh has words and who has allocated them, in a table in which later words replace others.
var heisenFresh [1 << heisenFreshBits]atomic.Uint64

// heisenFreshWord returns the entry of a fresh word of h and where it is. Addresses have 48 bits.
//
//go:nosplit
func heisenFreshWord(h *heisenG, addr uintptr) (at *atomic.Uint64, entry uint64) {
	word := uint64(addr) << 16 >> 19 // of 45 bits
	return &heisenFresh[word*0x9E3779B97F4A7C15>>(64-heisenFreshBits)], word<<heisenFreshIDBits | uint64(h.id)%(1<<heisenFreshIDBits)
}

// heisenAddFresh records that h has allocated size bytes at addr.
//
//go:nosplit
func heisenAddFresh(h *heisenG, addr, size uintptr) {
	for end := addr + min(size, heisenFreshSize); addr < end; addr = addr&^7 + 8 {
		at, entry := heisenFreshWord(h, addr)
		at.Store(entry)
	}
}

// heisenIsFresh reports whether the word at addr, which h accesses, is fresh. If not, it is not any
// more.
//
//go:nosplit
func heisenIsFresh(h *heisenG, addr uintptr) bool {
	at, entry := heisenFreshWord(h, addr)
	old := at.Load()
	if old != entry && (old^entry)>>heisenFreshIDBits == 0 {
		at.Store(0)
	}
	return old == entry
}
