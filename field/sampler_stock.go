//go:build !heisenfield

package field

// Programs that the go command alone has built have no sampler.

func samplerCatch(int, *catch) bool { return false }

func samplerCounters(*[8]uint64) {}

func samplerBudget(int64, int64) {}
