// Command prog has the programs that the tests of the recorder record. The first argument selects
// one.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
)

// race and norace have programs with and without a data race in any schedule. others has those for
// single tests, deterministic those for deterministic runs, and meddling those that close or replace
// descriptors which they do not know.
var race, norace, others, deterministic, meddling map[string]func()

func init() {
	race, norace, others, deterministic, meddling = races(), noRaces(), closer(), scheduled(), descriptors()
	maps.Copy(deterministic, systemScheduled())
	maps.Copy(others, values())
}

func main() {
	if len(os.Args) < 2 {
		for _, name := range slices.Sorted(maps.Keys(race)) {
			fmt.Println("race", name)
		}
		for _, name := range slices.Sorted(maps.Keys(norace)) {
			fmt.Println("norace", name)
		}
		return
	}
	var chosen []func()
	for _, programs := range []map[string]func(){race, norace, others, deterministic, meddling} {
		if f, ok := programs[os.Args[1]]; ok {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) != 1 {
		fmt.Fprintln(os.Stderr, len(chosen), "programs are called", os.Args[1])
		os.Exit(9)
	}
	chosen[0]()
}
