// Package bench holds the benchmarks of the module's cores. Run them with
//
//	go test -bench . ./bench
//
// Its subpackage overhead is a command that measures what whole programs cost
// under heisen and under Go's race detector, workload generates the
// traces that benchmarks and tests run on.
package bench
