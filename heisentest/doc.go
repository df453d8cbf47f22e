// Package heisentest finds concurrency bugs from within tests, so that plain go test is enough.
//
//   - [Explore] runs a test under many schedules, if heisen is a tool of the module:
//     go get -tool github.com/heisen-go/heisen/cmd/heisen
//   - [NoLeaks] fails a test that leaves goroutines behind which wait for ever. [VerifyNone] and
//     [VerifyTestMain] look at the whole process; who uses go.uber.org/goleak knows them.
//
// Leaks need no tool, but a release whose package runtime/pprof has the profile goroutineleak: Go 1.27, or
// 1.26 built with GOEXPERIMENT=goroutineleakprofile. A goroutine is leaked if it waits for what nothing that
// may still run can reach. So a goroutine that is only slow, or serves others until the process ends, is
// no leak, and there is nothing to wait for.
//
// Where something is missing, the functions log a sentence that says so, and fail nothing. The package
// needs only the standard library.
package heisentest
