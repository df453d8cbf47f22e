//go:build heisen_inject && (amd64 || arm64)

package runtime

// The compiler calls these. Most accesses are redundant by the first entry of their cell, and most
// calls only push a frame: fasthooks_*.s handles these.

func raceread(addr uintptr)

func racewrite(addr uintptr)

// heisenReadGeneral is raceread where its fast path does not apply.
func heisenReadGeneral(addr uintptr)

// heisenWriteGeneral is racewrite, likewise.
func heisenWriteGeneral(addr uintptr)

func racefuncenter(callpc uintptr)

func racefuncexit()

// heisenPrefetch starts to load the cache line of p for writing and does not wait for it: another
// processor may have it.
func heisenPrefetch(p uintptr)
