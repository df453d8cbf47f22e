// Package syncp predicts data races and deadlocks from a whole execution, however far apart the events are: those
// that another order of the same events shows in which the critical sections of each lock keep their order. Each
// prediction comes with such an order, the witness, which package mcm has replayed.
//
// A [Detector] takes a stream of events and reports predictions as soon as it has seen their last event. Package mcm
// finds what any order shows, within a window of events. This package finds what fewer orders show, without a window.
//
// # Algorithm
//
// A reordering is sync-preserving if two critical sections of a lock that are both in it have the order that was
// observed, and each read sees the write that it saw (Mathur, Pavlogiannis and Viswanathan, "Optimal
// Prediction of Synchronization-Preserving Races", POPL 2021, section 3). Two accesses race in one of these if and
// only if the smallest set that contains what comes before them, and that such a reordering can consist of, contains neither: their
// closure (section 4). The same holds for the acquisitions of a deadlock (Tunç, Mathur, Pavlogiannis and Viswanathan, "Sound
// Dynamic Deadlock Prediction in Linear Time", PLDI 2023, section 4). The witness is the closure, in the order of the stream.
//
// A closure grows with the accesses. So one that contains an earlier access answers the question for all later
// accesses of the other thread, and each access of a place is looked at once for each other thread.
//
// # What keeps its order
//
//   - Threads: the events of a thread. They come after its Fork, and a Join comes after all that it came after.
//   - Locks: critical sections of a lock, unless both are shared. A lock that a thread releases without holding it, or that is acquired
//     against its rules, keeps the order of all its operations from then on.
//   - Messages: a Receive or an Observe comes after all Sends and Changes that it came after, and before the
//     others. A Send comes after all Changes that it came after. Sends keep no order among each other, and neither do Receives.
//   - Reads: a Read, an AtomicRead or an AtomicUpdate comes after the write that it saw, and no other write comes in between. Writes
//     keep no order among each other, and an atomic operation keeps no other order than this.
//   - Memory: an Alloc or Free comes after all events that concerned its range before, and before those that do
//     later. A write over a lock keeps its order with the lock's operations.
//   - Hidden code: a Hide, a Reveal and the events between keep their order with all others.
//   - An object that is used in two ways, for instance as a lock and as a message, keeps the order of its events
//     from then on, and that with all events before.
//
// # Guarantees
//
// Every reported bug can happen in every program that can show the stream up to the last event of the bug; see package mcm. For
// each pair of places (site and op) of which a race is sync-preserving, and each set of places of a deadlock of up to four
// threads, one is reported. Exceptions: Stats.LeftOut counts what was left out of cycles of locks, Stats.Refused the suspected
// bugs whose witness did not replay, and Flush returns an error if the log could not be read.
//
// # Cost
//
// Time grows with the stream, and so does memory: no algorithm that finds all sync-preserving races can forget (POPL 2021, section 5).
// The log, from which witnesses are made, takes 6 to 8 bytes for each event that matters to them; WithSpill moves it to a file. An
// acquisition takes 44 bytes, a read that makes a thread depend on another one takes 8 for each thread of which it brings news, and an access takes 4 if the
// thread has learned of others, or acquired a lock, since the last one of the same place.
//
// An event costs 400 to 1,300 nanoseconds with up to 16 threads and some microseconds with 64 that all depend on each
// other, and 20 to 90 bytes in all. A prediction costs a replay of the events between the first and the last one that it is
// about. go test -bench . ./syncp measures both.
//
// # Concurrency
//
// A Detector belongs to one goroutine at a time.
package syncp
