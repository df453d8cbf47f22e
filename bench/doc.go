// Package bench holds the benchmarks of the module's cores. Run them with
//
//	go test -bench . ./bench
//
// Its subpackage workload generates the traces they and other tests run on.
package bench
