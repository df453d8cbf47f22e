//go:build heisenfield

package field

// The runtime of a program that heisen build -field has made has these functions.

//go:noescape
func samplerCatch(number int, c *catch) bool

//go:noescape
func samplerCounters(c *[8]uint64)

func samplerBudget(cpu, delay int64)
