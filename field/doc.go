// Package field tells of concurrency bugs in programs in production: goroutines that can never go on, which needs no special
// build, and data races in programs that heisen build -field has made.
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
// A program that heisen build -field has made has a sampler in its runtime. It stops a goroutine for a moment before it
// accesses a variable; another one that comes to the variable meanwhile is in a data race with it. It prints
// these races on standard error by itself. A Watcher tells of them, too, in all the ways in which it tells of leaks. Sample
// sets what the sampler may cost, Count says what it has done.
//
// A look costs a garbage collection. WithShare bounds the share of the time that looks take. The package
// starts no goroutines, registers nothing and changes no program: without a call nothing happens.
package field
