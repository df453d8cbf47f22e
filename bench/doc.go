// Package bench compares all detectors of the module on the same workloads:
//
//	go test -run '^$' -bench BenchmarkDetectors ./bench
//
// The benchmarks of a package are in that package. The names of benchmarks have the form key=value,
// so that benchstat can make tables of them.
//
// The subpackages are commands and what they share. With -format csv or -format json, the commands that
// measure print their tables for other programs:
//
//   - book: makes bench/RESULTS.md, the results of most of the others
//   - detectors: the verdicts of all detectors on planted races, and their time by threads and events
//   - tree: the filter of package tree, on programs and on generated traces
//   - overhead: the cost of whole programs under heisen and under Go's race detector
//   - soak: whether memory stays bounded in long runs
//   - server: an HTTP server under load, with and without a race detector
//   - server/shapes: servers of nine shapes, with and without a race detector
//   - noise: the effect of noise on AtomRace
//   - racefuzz: how often scheduling strategies make races happen
//   - schedule: the cost of a scheduling choice in an instrumented program
//   - focus: what a plan of heisen infer saves
//   - healing: what healing costs, and how often it fails
//   - rivals: heisen beside go test -race, goleak and go-deadlock, on programs with one bug each
//   - strategies: the strategies of heisen fuzz, on programs with one bug each
//   - rdit: the effect of BarrierPairs on incomplete recordings
//   - solvers: the order solver against SMT solvers, and package mcm as a whole
//   - jobs: a program with many queries for mcm
//   - workload, measure, results: the workloads, the units and the tables of all benchmarks
//   - maximal, models: formulas for solvers, and the programs of papers for package racefuzz
package bench
