// Package corpus has executions and programs with known concurrency bugs, with which detectors and tools are
// compared in their verdicts, and not only in their speed.
//
// # Traces
//
// [Traces] generates traces with planted races, and with pairs of accesses that look like races and are
// none. [Trace.Judge] compares the findings of a detector with the truth. The command bench/detectors does
// that for the detectors of this module:
//
//	go run ./bench/detectors
//
// # Programs
//
// [Programs] are small tests with one bug each, beside a fixed twin, and [Program.Expects] judges what a
// tool reports about them. They are in testdata, one folder for each class of bugs and one file for each program. The
// classes are those of Tu et al., "Understanding Real-World Concurrency Bugs in Go" (ASPLOS 2019), and
// of the benchmark GoBench (CGO 2021), which refines them:
//
//   - blocking bugs, after which goroutines wait for ever: mutex, rwmutex, channel, selects, contexts,
//     waitgroup, cond, and mixed, in which a channel and a lock wait for each other;
//   - other bugs: datarace, order, atomicity, channelmisuse, waitgroupmisuse, and library, which is
//     about packages with rules of their own, such as testing, time and context.
//
// The programs were written from the descriptions of the classes, not from known bugs. A file has the
// test TestName with the bug and the test TestNameFixed without. A comment such as
//
//	c.total++ // want race
//
// states a place and the kinds of findings that are expected there: several kinds are separated by
// commas, and one of all findings that the file wants is enough. A finding is expected if its kind is
// wanted at a line of one of its stacks. A test in which no goroutine can go on is a deadlock, too. A
// failure has no stack; the comment has a part of its message:
//
//	close(j.done) // want failure "close of closed channel"
//
// Everything else that is reported about TestName is wrong, and
// so is everything that is reported about TestNameFixed.
//
// The go command does not see packages in testdata in patterns such as ./..., so that neither go vet nor
// go test ./... complains about the bugs. The programs need no heisen and can be run by themselves:
//
//	go test -run TestTransfer ./corpus/testdata/mutex
//	heisen fuzz -run '^TestTransfer$' ./corpus/testdata/mutex
package corpus
