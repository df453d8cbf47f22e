// Command racesuite measures heisen against the test data of Go's own race
// detector, $GOROOT/src/runtime/race/testdata. The functions there say in their
// names what is right: TestRaceX has a data race that must be reported,
// TestNoRaceX has none, and a report would be a false alarm.
//
//	go run ./internal/testaid/goracetests
//
// builds the files where they are (none is copied), runs each function in a
// process of its own, at one and at all processors, and prints how many verdicts
// were right. The exit status is 1 if that of a function in scope was wrong; see
// exceptions for what is out of it. For another processor it is
//
//	go run -exec 'env GOARCH=arm64' ./internal/testaid/goracetests -exec qemu-aarch64-static
package main
