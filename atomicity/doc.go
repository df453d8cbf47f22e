// Package atomicity checks transactions: sections of code that are meant to be atomic, over any
// number of variables.
//
// Serial reports the transactions of an execution that were not serializable: what other threads did
// between their events cannot be moved out. It is precise and reports only what did happen.
//
// Blocks looks for more: pairs of transactions that other schedules can interleave in a way that no
// serial execution has, as far as the locks and messages of the execution tell. Its findings are
// warnings, because data may rule the interleaving out. It takes many times as long.
//
// Reduction tries to prove that transactions are atomic in all schedules, by the pattern of their lock
// operations and potential races, and reports those for which it fails. It is faster than Blocks and
// reports more.
//
// # Transactions
//
// A transaction is a part of a thread's events. [WithBoundaries] says where transactions begin and
// end: at Enter and Exit, which traces of other analyzers have; at the locks, so that each outermost
// critical section is a transaction; or at Call and Return. [WithSelection] limits them to a list.
// Recordings of Go programs have locks and no Enter events; those that heisen observes with the flag
// -transactions methods have Call events, too.
//
// For sections of code that concern one variable, see package section and the AtomRace detector in
// package atomrace.
//
// # Concurrency
//
// A detector must be used by one goroutine at a time.
package atomicity
