// Package tree keeps redundant accesses from race detectors: TREE, of the thesis
// "TREE and RDIT" (chapter 3), made lossless.
//
// A Filter stands in front of any heisen.Detector. It hands on every event but
// those plain accesses, Read and Write, of which an earlier access says all that
// the detector could say of them; and, if the detector says that it can do without
// them (heisen.LockUser), those lock operations that tell it nothing. Atomic
// operations are synchronisation too and are always handed on.
//
// # When an access is redundant
//
// Let e be an access that was handed on, and e' a later one by the same thread t,
// at the same site, by the same op, to the same bytes in the same life of them
// (see heisen.Alloc). The filter drops e' if no publication by t that lies
// between e and e' can reach another thread without e'. A publication is what
// heisen.Op calls so; the filter counts as one also what may become known by
// other means (the thread is joined, its end). It can reach somebody without e'
// unless it is the release of a lock that
//   - t has taken again since, in a mode at least as strong, and holds at e', and
//   - nobody else has taken in between.
//
// For whoever takes the lock next does so after t's next release of it, and that
// comes after e'. So a thread that goes through the same critical section again
// and again repeats itself until another thread wants the lock; and a span
// (section 3.6), the interval between two publications, is the case in which
// there are none at all.
//
// A range of bytes is redundant if each byte is, whichever accesses e stand for
// them.
//
// # Theorem
//
// The set of unordered pairs of (op, site) of all races of a stream is the same
// behind the filter, for races of happens-before (vclock.HappensBefore, each byte by
// itself too) and for potential races of a hybrid detector (lockset.Hybrid, all
// accesses remembered), unless Flush returns an error.
//
// Proof. Let f, by another thread, race with e' at a byte. Then f races with e
// there.
//
// Ordered before: if f happened before e, it would happen before e', which e
// happens before. If f comes after e in the stream it does not happen before e.
//
// Ordered after: assume that e happens before f. The path from e to f leaves t
// by a publication after e. If it leaves after e', then e' happens before f as
// well, a contradiction. So it leaves between e and e', by a publication p that
// somebody saw. If that was before e', then p had reached another thread and e'
// was not dropped. If it was after e', then p is the release of a lock that t
// held at e', and was seen by who took the lock after t's next release of it;
// that release comes after e', and who sees p sees it too, so e' happens before
// f, a contradiction. (If an atomic store or a new life of the lock took p away,
// nobody sees it.)
//
// By messages only the argument is the same: they are publications that nothing
// calls back. Locks: each lock that t held at e and not all the time since is
// held again at e', or its release would be a publication that was not called
// back; so the locks at e are among those at e', and what excludes f from e
// excludes f from e'.
//
// So (f, e) is a race with the same ops and sites as (f, e'). If f was dropped
// as well, the same says that an access which stands for f races with e. And
// dropping accesses makes no races, for no op but those handed on orders
// anything. ∎
//
// The argument asks that locks are locks. A stream in which somebody takes a lock
// that another thread holds, or reads what was released through it by other
// means, can take what the proof relies on away after the access was dropped. The
// filter notices each case, and Flush returns an error that wraps ErrLock if there
// was one; from then on, it does not rely on that lock. Where detectors that
// compare locksets take a lock for another one (it is released by who does not
// hold it, say; see lockset.Tracker), what was held before stands for nothing.
//
// # When a lock operation is
//
// To a detector that takes locks as order, an Acquire tells nothing of a lock that
// the same thread released last, and of which nobody else has published anything
// since: what it sees the thread has done, or has seen when it took the lock before.
// Nor does a Release, if since the thread's last one of that lock that was handed
// on nobody else has used it, and nothing of the thread was handed on but releases
// of locks: whoever sees the one sees the same accesses as by the other. This module's detectors are then exactly where they would be, for
// vclock.Order would take either operation and change nothing.
//
// To a detector that compares what is held at accesses, a lock tells nothing that
// is taken and released without that any event was handed on in between; it is
// kept waiting for as long. Operations of locks that are memory (heisen.LockWord)
// are accesses too, and all handed on. EveryLock hands on the others as well.
//
// # Rest
//
// The filter watches whether it pays in front of a detector to which an event costs
// what WithDetectorCost says. If not, it hands on all accesses, or all events,
// for a while, and forgets what it knew: the first accesses thereafter are handed
// on. Of locks that it has not seen taken it takes the release for a publication.
// So the theorem holds. When it rests depends on numbers of events, not on clocks. NoRest keeps it awake.
//
// # Detectors
//
//   - vclock.HappensBefore, lockset.Hybrid: the pairs of locations are the same.
//   - vclock.FastTrack keeps only last accesses, so which pair it reports for a
//     byte may be another one. The bytes that race are the same, and of each of
//     them the first event that races with an earlier one; every pair is true.
//     (That access is handed on: if it were redundant, the one that stands for it
//     would race first, or the other one. What it races with is there, as above.)
//   - lockset.Eraser: the same variables are reported, at the same accesses, with
//     the same locks; the access of another thread that goes with it may be
//     another one. What one thread did alone does not count there, so when a
//     second thread comes to a variable the filter begins anew. Not so by object
//     (lockset.WithObjectGranularity): there the second thread may come to another field.
//   - Detectors that look at locks only get all that they look at.
//   - Not for detectors that accept BarrierPairs (vclock.BarrierPairs), on streams that
//     have some: see below.
//   - Not for detectors to which it matters how often or when something was
//     accessed: atomicity, accesses that overlap in time (atomrace), values
//     (maximal causality).
//
// MessageOrder drops much more in front of the hybrid detector and Eraser, to
// which releases of locks are no order. NewSpanFilter is for detectors that
// report a variable once.
//
// # Hidden calls
//
// Hidden code may have waited for any access to what it reaches (heisen.Hide). So where
// BarrierPairs are part of the order, an access to such an object is a publication: of
// what its thread did before, to hidden calls that come later. A second access that says
// nothing new of its variable still says when what came between the two was done; without
// it, that races with what follows the hidden call (TestHiddenCalls has the least trace).
// To end the span at a Hide and a Reveal does not help, for the two accesses are
// another thread's, and which objects hidden calls will reach nobody knows when they
// come. What is left are accesses with no event of the thread in between that is
// handed on: too few to pay. So the command has no filter where calls are hidden, neither
// this one nor the recorder's.
//
// # What became of the thesis' version
//
// There a thread's concurrency context Γ is the locks that it holds and the
// messages that it has sent and received, and an access is redundant if its
// location was reached in the same context before, by the same thread or by two
// others. Literal does that. It loses races, and the package's tests have the
// least traces for each way:
//   - Θ is looked up by program location, so another variable's access counts.
//   - What a thread was started with is not in its context, nor will it be known
//     who waits for which thread. Threads with equal contexts still differ in
//     what is ordered before and after them, so two of them do not make a third
//     one redundant. There is no online form of redundancy between threads that
//     is lossless: whether what comes later is ordered after the two, and not
//     after the third, cannot be known when the third one's access comes.
//   - Locks are no messages there, but they order for happens-before.
//
// The filter's context is therefore the thread itself and the spans that it has
// gone through since something of it was last out of its hands; with
// MessageOrder, the messages only, and the path of locks held.
//
// # Costs
//
// A redundant access costs about as much as a look-up in a page table, and a lock
// operation that is left out about the same, 5 to 10 nanoseconds together with the
// rest; what is handed on costs a few times as much. The detectors of this module
// take 10 to 20 for an event themselves. So in front of them the filter halves the
// time where threads go through the same critical sections again and again. Where
// they do not, it rests, and costs a few percent on top of FastTrack besides what
// it has looked at; on top of the lockset detectors, for which it goes on following
// locks, up to a half of an Eraser that has little else to do. More it saves where accesses are expensive to the
// detector, as to vclock.HappensBefore, and where events are stored or sent.
//
// A variable takes 45 bytes, and 24 more for each further pair of context and
// location beyond two; Memory sets a bound. In steady state nothing is allocated
// while there is no bound.
package tree
