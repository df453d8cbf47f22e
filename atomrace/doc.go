// Package atomrace finds data races and atomicity violations as what they are:
// accesses that overlap, and accesses that come in between. It implements Letko,
// Vojnar, Křena: AtomRace: Data Race and Atomicity Violation Detector and Healer.
//
// A [Detector] is told before and after each access to a variable. It follows no locks,
// channels or other synchronisation, and so needs to know none: it sees what they
// failed to prevent. [NewDetector] is the front door.
//
// # What it promises
//
// Every race that it reports is one, and every violation is one of the sections that it
// was given. It claims no completeness. Accesses that could have overlapped but did not
// are not found: that is what noise is for. Nor are those that a full table had no room
// for, which [Detector.Missed] counts.
//
// # Why an overlap is a race
//
// An access is pending from the call, or the event, before it to the one after it. If
// another thread's access that conflicts with it begins in that time, nothing orders
// the two. Section 3.1 of the paper argues that there is for sure no synchronisation
// between beforeAccess and the access, nor between the access and afterAccess.
//
// Where nobody says when an access is over, as in recorded streams, it is over at the
// thread's next event: the next access, the next operation on a lock or a channel, its
// end. In programs that the Go compiler instruments even the next access does not end it,
// but the next release, or too many accesses in between. The argument holds for this
// longer time too. For the pending access to be ordered before the other one, its thread would
// have to release something after it that the other thread acquires before it goes on.
// Every release is an event, which comes before the release takes effect, and the access
// is over with it. For the other access to be ordered before the pending one, its thread
// would have to release something after it; but it is about to be made when the pending
// one is there already. That a thread has ended can be learnt without any event of the
// thread, by joining it: that ends its access as well. So does that the memory gets
// another life.
//
// A thread that initialises a variable and then publishes it does not race with those who
// find it there: it synchronises, and its writes are over. (If it publishes it by a plain
// write of a pointer, that write may race, and should be reported, and what it has
// initialised is not ordered before the reads of others either.)
//
// Atomic operations never conflict with each other, as volatile variables in the paper
// are not monitored. An atomic operation is over at once, for it may order what comes
// after it. But a plain access that is pending when an atomic operation on the same
// bytes comes is not ordered before it, and the two are a race unless both read.
//
// # What a violation is
//
// Once a thread has made the access at the entry of a [section.Section], others should not access
// the same variable, except as the end allows that the thread comes to. An access by
// another thread is held against the section if it began after the entry's beforeAccess
// and before the end's afterAccess, as in figure 3. If the accesses to the variable are
// made under a lock, though not under one for the whole section, or are atomic, then it
// really came between the two: it could begin neither while the entry was pending nor
// while the end was. If they are not synchronised at all, it may have overlapped one of
// them instead, and either order was possible; where the two conflict, they are a race by
// themselves.
//
// Beyond figure 3, several threads are followed on a variable at the same time, and a
// thread can be in several sections. [SingleSlot] has the paper's way.
//
// # Which way to drive it
//
// Programs that are instrumented by hand, or by a tool of one's own, call
// [Detector.BeforeAccess] and the other methods around accesses, from all their threads.
// Recorded traces and other streams go to [Detector.HandleRecords]: there threads only
// overlap as far as the order of the events in the stream shows it, so that a trace of a
// run without noise rarely shows anything. The heisen command does neither when it runs
// a program, but has the same tables in the program itself.
//
// # Sections
//
// A program does not say which of its accesses belong together. Package section describes such
// sections and keeps them in files.
//
// # Noise
//
// Accesses that can meet seldom do. A [Noise] makes the threads of a program wait
// within accesses, so that they meet more often: anywhere ([NewRandomNoise]), or,
// once something is suspected, at some variables ([NewVariableNoise]) or places
// ([NewLocationNoise]). It makes no false alarm; it costs time, which is bounded.
package atomrace
