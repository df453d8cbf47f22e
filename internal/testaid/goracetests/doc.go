// Command goracetests runs the test data of Go's race detector under heisen and checks the
// verdicts.
//
// The data is $GOROOT/src/runtime/race/testdata. The name of each function there states the
// correct verdict: a function named TestRaceX has a data race that a detector must report, and a
// function named TestNoRaceX has none, so any report is a false alarm.
//
//	go run ./internal/testaid/goracetests
//
// builds the files in place, without copying them. It runs each function in its own process, once
// with GOMAXPROCS=1 and once with all processors, and prints how many verdicts were correct. The
// exit status is 1 if the verdict on a function in scope was wrong. The variable exceptions lists
// the functions that are out of scope.
//
// To run the data for another processor under an emulator:
//
//	go run -exec 'env GOARCH=arm64' ./internal/testaid/goracetests -exec qemu-aarch64-static
//
// With -alone, programs look for races and print them themselves, as they do for systems on which they do not connect to
// heisen. So the data can be run for Windows under wine:
//
//	go run -exec 'env GOOS=windows' ./internal/testaid/goracetests -alone -exec wine64
package main
