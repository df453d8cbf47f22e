// Package lockset detects concurrency bugs by the locks that threads hold.
//
// It has three detectors. Eraser reports variables that no lock protects. Hybrid reports pairs of
// accesses that neither a common lock nor a message keeps apart: potential races. LockOrder reports
// lock-order cycles: potential deadlocks. None of them needs the bug to happen. They report what
// the use of locks in one execution permits in others, and claim no more.
//
// # Algorithms
//
//   - Eraser: Savage, Burrows, Nelson, Sobalvarro and Anderson, "Eraser: A Dynamic Data Race Detector for
//     Multithreaded Programs" (TOCS 1997), with the states virgin, exclusive, shared and
//     shared-modified of figure 4, and the refinement for read-write locks.
//   - Hybrid: O'Callahan and Choi, "Hybrid Dynamic Data Race Detection" (PPoPP 2003), as Sen, "Race
//     Directed Random Testing of Concurrent Programs" (PLDI 2008), section 2.2, states it.
//   - LockOrder: Goodlock of Havelund (SPIN 2000) and Bensalem and Havelund (PADTAD 2005), with
//     guards (gate locks) and segments, for cycles of any length and for read-write locks.
//
// # Guarantees
//
// The findings are warnings: another schedule may show the bug, or something that the detector
// does not look at, such as data or, for Eraser, messages, may prevent it. In the other direction
// the detectors are complete within their model. If Eraser reports nothing for a variable, a common
// lock protects it (see Eraser). Hybrid reports the sites of every happens-before race, and of
// every race in every reordering that respects locks and messages. LockOrder reports every
// lock-order cycle within its bounds. The doc comment of each type has the precise statement.
//
// # Cost
//
// An access that repeats an earlier one costs a few nanoseconds. In steady state nothing is
// allocated. Sets of locks are interned, so that equal sets are equal numbers. The doc comments
// have the details, and go test -bench . ./lockset measures them.
//
// # Concurrency
//
// A detector must be used by one goroutine at a time.
package lockset
