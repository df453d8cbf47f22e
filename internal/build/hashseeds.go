package build

import (
	"bytes"
	"fmt"
)

// hashSeeds sets the keys of all hash functions, which decide the order of map iterations.
const hashSeeds = `package %s

func %s(next func() uint64) {
	for i := range aeskeysched {
		aeskeysched[i] = byte(next())
	}
	for i := range hashkey {
		hashkey[i] = uintptr(next())
	}
}
`

// outerHashSeeds is the function of package runtime where the keys are in another package.
const outerHashSeeds = `package runtime

import "internal/runtime/maps"

func heisenSeedHashes(next func() uint64) { maps.HeisenSeedHashes(next) }
`

// mapKeysFile has the keys of hash functions since Go 1.27.
const mapKeysFile = "internal/runtime/maps/runtime_alg.go"

// addHashSeeds adds heisenSeedHashes to package runtime. The keys are in package runtime up to Go 1.26, and with the
// maps since Go 1.27.
func (o overlay) addHashSeeds(read func(string) ([]byte, error)) error {
	if text, err := read("runtime/alg.go"); err != nil {
		return err
	} else if bytes.Contains(text, []byte("\nvar aeskeysched ")) {
		o["runtime/heisen_hashseeds.go"] = fmt.Appendf(nil, hashSeeds, "runtime", "heisenSeedHashes")
		return nil
	}
	text, err := read(mapKeysFile)
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte("\nvar aeskeysched ")) {
		return fmt.Errorf("%w GOROOT: %s: no keys of hash functions", ErrUnsupported, mapKeysFile)
	}
	o["internal/runtime/maps/heisen_hashseeds.go"] = fmt.Appendf(nil, hashSeeds, "maps", "HeisenSeedHashes")
	o["runtime/heisen_hashseeds.go"] = []byte(outerHashSeeds)
	return nil
}
