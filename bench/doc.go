// Package bench holds the benchmarks of the module's cores. Run them with
//
//	go test -bench . ./bench
//
// Its subpackages are commands that measure whole programs under heisen:
// overhead what they cost, and what they cost under Go's race detector, soak
// whether memory stays bounded in long runs; racefuzz measures how often strategies
// bring about races; solvers compares the order solver with others, on formulas that
// package maximal writes, and measures all of package mcm on the same windows and on
// recorded traces, of which jobs makes one with many questions; rdit measures what recordings without some packages are
// worth. Package workload generates the traces that benchmarks and tests run on, and
// package models has the papers' programs for package racefuzz.
package bench
