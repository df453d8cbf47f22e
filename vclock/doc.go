// Package vclock detects data races by happens-before, with vector clocks.
//
// It has two detectors. FastTrack finds at least the first race of every variable that races in
// the observed order, at a few nanoseconds per access. HappensBefore finds every racy pair of
// accesses, stores every access for it, and is slow. Both are built on Order, the happens-before
// relation of a stream of events, and on Clock and Epoch. A detector of your own can use these.
//
// # Algorithm
//
// FastTrack is the algorithm of Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic
// Race Detection" (PLDI 2009). The shadow cell of a variable stores the last write, and the last
// read if the reads are ordered, as epochs; it falls back to one read per thread if they are not.
// Comments name the rules of figure 5 of the paper, such as [FT READ SAME EPOCH]. The package adds
// sync/atomic operations, accesses to ranges of bytes, and the sites of both accesses.
//
// HappensBefore compares every access with all earlier conflicting ones, as the definition says
// (Lamport, CACM 1978; Mattern, "Virtual Time and Global States of Distributed Systems", 1989).
//
// The edges of the order are those that heisen.Op defines for each op: program order, Fork and
// Join, the release and the acquisition of locks, Send and Receive, and sync/atomic operations,
// as in the Go memory model.
//
// # Guarantees
//
// A finding is a true race of the observed order if the stream contains all synchronization, or if
// barrier pairs stand for what it lacks and WithBarrierPairs is set (TREE and RDIT, chapter 4).
// HappensBefore finds every racy pair, up to repetitions that no finding could tell apart.
// FastTrack finds, for every byte that races, the first access that races with an earlier one. The
// doc comment of FastTrack has the proof. Both miss races that only another schedule shows.
//
// The guarantees hold unless Flush returns an error that wraps ErrEndedThread or
// ErrTooManyThreads.
//
// # Cost
//
// FastTrack takes about 14 nanoseconds per event and 37 bytes per accessed word. See FastTrack,
// HappensBefore and Order for details, and go test -bench . ./vclock to measure them.
//
// # Concurrency
//
// Detectors, Orders and Clocks that share memory must be used by one goroutine at a time.
package vclock
