// Package bench holds the benchmarks of the module's cores. Run them with
//
//	go test -bench . ./bench
//
// Its subpackages are commands that measure whole programs under heisen:
// overhead what they cost, and what they cost under Go's race detector, soak
// whether memory stays bounded in long runs; racefuzz measures how often strategies
// reproduce races, schedule what a scheduling step of an instrumented program costs;
// solvers compares the order solver with SMT solvers, on formulas that package maximal
// encodes, and measures all of package mcm on the same windows and on recorded traces,
// of which jobs makes one with many questions; rdit measures what recordings without
// some packages are worth. Package workload generates the traces that benchmarks and
// tests run on, and package models has the programs of papers for package racefuzz.
package bench
