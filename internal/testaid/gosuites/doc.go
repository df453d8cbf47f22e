// Command gosuites runs tests of the Go distribution under heisen, and compares the verdict of each
// test with that under go test -race.
//
// There are two ways to run under heisen: as heisen test does, and in explore mode, in which each test
// is executed alone, in the default order of its goroutines, as heisen fuzz begins. With -collect,
// programs in explore mode also collect garbage while goroutines are stopped, and overwrite what is
// freed (see HEISEN_COLLECT in stops.go of the recorder).
//
//	go run ./internal/testaid/gosuites                  # all packages of the list: hours
//	go run ./internal/testaid/gosuites context sync     # these
//	go run ./internal/testaid/gosuites -results file    # goes on where the file ends
//
// A test whose verdict differs is printed with what the run has printed. The exit status is then 1,
// unless the table in known.go explains the difference.
package main
