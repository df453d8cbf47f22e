// Package tree drops redundant events in front of a detector. A Filter wraps any heisen.Detector and
// forwards all events except plain accesses, Read and Write, that cannot add a finding, and lock
// operations that do not matter to the detector. Atomic operations are always forwarded.
//
// # Algorithm
//
// The filter is TREE, of the thesis "TREE and RDIT" (chapter 3), made lossless. Let e be a forwarded
// access, and e' a later access by the same thread, at the same site, by the same op, to the same
// bytes in the same allocation epoch. The filter drops e' unless a publication of the thread between
// e and e' may be observed by another thread that has not also observed e'. A publication is an event
// that publishes in the sense of heisen.Op, or the end of the thread.
//
// The release of a lock is a pending release until another thread observes it. If the thread takes
// the lock again before that, in a mode at least as strong, and holds it at e', then the release is
// reacquired: every thread that observes it later also observes the next release, which comes after
// e'. So a thread that runs the same critical section again and again repeats itself until another
// thread takes the lock. An interval between two publications is a span (section 3.6).
//
// An access stands for those of the same size only.
//
// To a detector that uses locks as order (heisen.LocksAsOrder), the filter does not forward an Acquire
// of a lock that the same thread released last, nor a Release that publishes nothing new. To a
// detector that compares locksets (heisen.LocksAsSets), it does not forward an Acquire and the
// matching Release if no event was forwarded in between; the Acquire is deferred until the next
// forwarded event. Operations of locks that are memory of the program (heisen.LockWord) are always
// forwarded.
//
// # Guarantees
//
// The set of unordered pairs of (op, site) of all races of a stream is the same behind the filter,
// for the races of vclock.HappensBefore and for the potential races of lockset.Hybrid with unlimited
// accesses, unless Flush returns an error that wraps ErrLockMisuse. The proof is in
// docs/design/tree.md. For each detector:
//
//   - vclock.HappensBefore, lockset.Hybrid: the same pairs of sites.
//   - vclock.FastTrack: the same bytes race, and for each byte the same access is the first that races
//     with an earlier one. The earlier access may differ. Every finding is a true race.
//   - Detectors that use only locks: the same findings. They need no filter, as they ignore accesses.
//   - Not supported: lockset.Eraser, for which the owner of a variable depends on all accesses, detectors with
//     vclock.WithBarrierPairs on streams with barrier pairs, and
//     detectors that depend on repetition, time or values (atomicity, overlaps, package mcm).
//
// In front of vclock.HappensBefore, no filter that decides when an access comes, or a bounded number of events later, can drop more
// without losing pairs. In particular, there is no redundancy between threads, as the thesis has it: docs/design/tree.md has the proof.
//
// WithMessageOrder drops many more accesses in front of lockset detectors. NewSpanFilter is for
// detectors that report the first race of a variable. WithThesisAlgorithm loses races;
// docs/design/tree.md explains how.
//
// # Cost
//
// The filter takes 5 to 20 nanoseconds for an event. vclock.FastTrack takes as much, so there a filter saves time only if threads
// repeat the same critical sections again and again. It saves more if accesses are
// expensive, as to vclock.HappensBefore, or if events are stored or sent. The filter measures batches of events with and without
// itself, and steps aside where the detector alone is faster; see WithoutBypass. The guarantees hold with a bypass, too.
//
// The history of accesses is a cache of 16 KiB that grows up to 1 MiB. A thread and a lock take about 200 bytes. WithMemory
// bounds all that. In steady state nothing is allocated.
//
// # Concurrency
//
// A Filter, and the detector behind it, must be used by one goroutine at a time.
package tree
