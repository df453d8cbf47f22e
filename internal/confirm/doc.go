// Package confirm reproduces suspected bugs. It is what heisen fuzz and heisen replay do.
//
// A Survey executes a program a few times with one goroutine at a time and collects Suspects: pairs
// of places that may race, locks that may be waited for in a cycle, and atomic sections that other
// goroutines may interleave with. A Confirmer executes the program under schedules that steer it to
// each suspect, and reports a Result: whether the bug happened, and how the executions ended. Its
// method Reproduce then shrinks the schedule of an execution with the bug and checks that it
// repeats. Origin and Restore translate between schedules and their text form.
//
// Whatever an execution tries, it may show bugs by itself, such as goroutines that wait for ever.
// Observations collects them.
//
// The strategy for races is the race-directed scheduler of Sen, Race Directed Random Testing of
// Concurrent Programs (PLDI 2008), algorithm 1: it postpones a goroutine at a suspected place until
// another one comes to the other place with the same memory, and then picks one of the two at
// random. Deadlocks and sections have strategies of the same kind. A suspect may come with a witness, a
// predicted schedule that leads to it. Package internal/core/strategies
// implements them in the program, and docs/design/confirmation.md explains the choices.
//
// A confirmed bug has really happened, so there are no false alarms. A suspect that is not
// confirmed may still be a bug. With the same seeds the results do not depend on how many
// executions run at a time, unless the program depends on the network or other input, which the
// results list.
//
// An execution costs what the program costs with the recorder on one processor. A suspect takes one
// execution for each seed, and one or two for a witness.
//
// A Resolver and a Program may be used by several goroutines, a Confirmer by one at a time.
package confirm
