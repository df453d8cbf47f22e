// Package field looks for goroutines that can never go on, in programs in production. It needs no special
// build.
//
//	watcher, err := field.New(field.WithLogger(slog.Default()))
//	...
//	go watcher.Run(ctx)
//	mux.Handle("/debug/heisen", watcher)
//
// A [Watcher] looks now and then, and when it is asked, for leaks: goroutines that wait for what nothing that may
// still run can reach. These never go on. What a global variable leads to counts as reachable, so a goroutine that
// waits for that is not found. The release of Go must have the profile goroutineleak of package runtime/pprof:
// Go 1.27 has it, and Go 1.26 with GOEXPERIMENT=goroutineleakprofile.
//
// A look costs a garbage collection. WithShare bounds the share of the time that looks take. The package
// starts no goroutines, registers nothing and changes no program: without a call nothing happens.
package field
