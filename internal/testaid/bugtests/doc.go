// Command bugtests tries heisen fuzz on the programs of package corpus and prints how often it found
// each bug.
//
//	go run ./internal/testaid/bugtests [-tries n] [-class list] [-run regexp] [-time 10s] [-quick 300ms] [-json]
//
// A try runs heisen fuzz on a test with a bug and on its fixed twin, with seeds of its own. The bug is
// found if a finding is reported that the program expects. Other findings about either test are wrong.
// Each report of an expected finding is replayed. The exit status is 1 if a bug was found in less than
// 95 of 100 tries, if anything wrong was reported, or if a report did not replay. With -quick, a try is short
// at first. Only if the bug is not found, the same seed gets four times as much, up to the time of -time.
//
//	go run ./internal/testaid/bugtests -races [-tries n] [-plain n] [-goroot] [packages]
//
// compares heisen fuzz with plain runs under heisen test, on the corpus and on the tests of packages, or
// with -goroot on the test data of Go's race detector. For each test with a race in any of the plain
// runs, it says whether heisen fuzz reports a race in that test, and lists the races that it misses.
package main
