// Command goleaktests compares heisen with the test data of Go's profile of leaked goroutines.
//
// Go 1.26 and later have programs that leak goroutines, most of them after bugs of real projects, in
// runtime/testdata/testgoroutineleakprofile, and the leaks that are expected in
// runtime/goroutineleakprofile_test.go. Both are read from the Go installation at hand; nothing of them
// is in this repository. The programs are copied to a temporary folder. There they write another
// profile, since the one of leaked goroutines exists only in programs that are built with an experiment.
//
//	go run ./internal/testaid/goleaktests [flags]
//
// With -runs, a try is an ordinary run: heisen run -detect leak. It succeeds if it reports every expected
// leak that Go's own profile of the same run has; that is, the program is built with the experiment.
//
// Otherwise a try runs heisen fuzz on a program with a seed of its own. It succeeds if it reports every
// leak that Go's test expects, those that Go calls flaky included. Leaks that Go's test does not expect
// are listed in both cases, and the status is 1.
//
// With -quick, a try is short at first. Only if a leak is missing, the same seed gets four times
// as much, up to the time of -time.
package main
