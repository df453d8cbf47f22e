// Command healedprograms checks what locks that heisen heal -enforce places do to random Go programs. It is about the
// two theorems of Weeratunge, Zhang and Jagannathan, Accentuating the Positive (OOPSLA 2011), section 10.
//
// Each program is a test with two or three goroutines that share fields of a struct and a package-level variable. They
// branch, loop, call functions, use mutexes and a channel, and print at the end what they have seen. The command profiles
// some executions, has package internal/enforce place locks, and explores the program without and with these locks as
// heisen fuzz does: all executions if they are few enough, and otherwise those for which there is time. It checks that
//
//   - neither variant prints anything that a model of the program cannot print (theorem 1), and the original prints all of
//     it if all its executions were tried;
//   - the program with locks has no deadlock unless the model has one;
//   - it has no data race on a variable with a lock;
//   - every pair of accesses that the profile has as atomic and that the plan does not name as left out is atomic in
//     each execution (theorem 2). Programs note their accesses in their order, with the calls that lead to them.
//
// The model interprets the statements under all schedules. It knows nothing of Go source and locks that are placed. The
// accesses of originals are atomic operations, between which the explorer switches. Those of half of the programs with
// locks are plain ones, which the locks must keep apart.
//
//	go run ./internal/testaid/healedprograms [-n programs] [-seed n] [-time d] [-j n]
package main
