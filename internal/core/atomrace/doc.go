// Package atomrace is the AtomRace core: the tables in which the threads of a program publish what
// they are about to access, and in which they look for conflicting accesses of other threads. It
// implements section 3 of Letko, Vojnar, Křena: AtomRace: Data Race and Atomicity Violation
// Detector and Healer (PADTAD 2008).
//
// The core has two hosts. Package github.com/heisen-go/heisen/atomrace drives it with calls and
// events. Package internal/recorder injects its text into package runtime of instrumented programs,
// with the runtime's own atomics in place of sync/atomic. Source has the injected files; host.go
// has what they need from a host.
//
// Injected files obey the rules of package runtime: they do not allocate, shared memory has no
// pointers, nothing grows or blocks for long, and every function is nosplit with a small frame.
// Threads, places and variables are integers whose meaning is the host's.
//
// All methods of a Table may be called by all threads at the same time, each with its own Thread,
// unless their comments say otherwise. Every reported access was pending at the time. Losses counts
// what is not reported because a bound was reached. docs/design/atomrace.md argues why such
// overlaps are races.
package atomrace
