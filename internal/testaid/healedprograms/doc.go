// Command healedprograms checks what locks that heisen heal -enforce places do to random Go programs. It is about the
// two theorems of Weeratunge, Zhang and Jagannathan, Accentuating the Positive (OOPSLA 2011), section 10.
//
// Each program is a test with two or three goroutines that share fields of a struct and a package-level variable. They
// branch, loop, call functions, use mutexes and a channel, and print at the end what they have seen. The command
// explores it as heisen fuzz does: all executions if they are few enough, and otherwise those for which there is time.
// It profiles some executions with random schedules, has package internal/enforce place locks, and explores the program
// with these locks, too. Then it checks that
//
//   - the program with locks prints nothing that the original never prints (theorem 1),
//   - it has no deadlock unless the original has one,
//   - it has no data race on a variable with a lock,
//   - every pair of accesses that the profile has as atomic and that the plan does not name as left out is atomic in
//     each execution (theorem 2). Programs note their accesses in their order, with the calls that lead to them.
//
// What the original prints is known if all its executions were tried. To make this possible, the accesses of originals
// are atomic operations. Those of every second program with locks are plain ones, which the locks must keep apart.
//
//	go run ./internal/testaid/healedprograms [-n programs] [-seed n] [-time d] [-j n]
package main
