// Package strategies has the scheduling strategies of package racefuzz as state machines over
// integers. A host runs a program one task at a time. Before each operation it asks a [Scheduler]
// which of the runnable tasks continues.
//
// The package is the core of two hosts. Package racefuzz uses it to schedule the goroutines of
// models. The heisen command injects its files, as source text, into package runtime of a real
// program, where they schedule the program's goroutines. The files in [Source] therefore keep the
// rules of package runtime:
//
//   - no allocation, maps, interfaces, imports or package variables, and no pointers in structs,
//   - nothing that blocks,
//   - integers for whatever the host calls a task, a place or an object,
//   - all memory comes from the host at the start.
//
// A test checks these rules. It also checks the rules that allow the injector to rename all
// top-level identifiers: struct literals have no field names.
//
// Algorithms: a random walk; PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized
// Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010, section 3); partial order
// sampling (Yuan, Yang, Gu: Partial Order Aware Concurrency Sampling, CAV 2018, section 3);
// race-directed scheduling (Sen: Race Directed Random Testing of Concurrent Programs, PLDI 2008, Algorithms 1 and
// 2) and its variants for deadlocks and atomic sections; delays at synchronization;
// replay of recorded choices; and following a predicted order. See docs/design/scheduling.md.
//
// Cost: one choice takes time linear in the number of runnable tasks and does not allocate. A
// Scheduler is for one goroutine at a time.
package strategies
