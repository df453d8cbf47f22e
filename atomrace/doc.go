// Package atomrace detects data races as accesses that overlap, and atomicity violations as accesses
// that come between two accesses of an atomic section.
//
// A [Detector] learns of each access before and after it is made. It ignores locks, channels and all
// other synchronization: it observes the accesses that they failed to keep apart. [NewDetector] makes
// one.
//
// # Algorithm
//
// The package implements Letko, Vojnar, Křena: AtomRace: Data Race and Atomicity Violation Detector
// and Healer (PADTAD 2008). An access is pending from the call (or event) before it to the call (or
// event) after it.
//
//   - Race (section 3.1, figure 2): a thread announces an access to a variable while a conflicting
//     access of another thread is pending. Two accesses conflict if they share a byte, at least one
//     writes, and at most one is atomic.
//   - Atomicity violation (section 3.2, figure 3): a thread has entered a [section.Section] on a
//     variable. Another thread makes an access to the variable that begins after the
//     beforeAccessEvent of the entry and before the afterAccessEvent of the end, and that the end does
//     not allow.
//   - Noise (section 3.3): a [Noise] makes threads wait while their access is pending, so that
//     accesses that can overlap do overlap.
//
// The paper follows one thread at a time on a variable. A Detector follows several, and a thread can
// be in several sections. [WithSingleSlot] restores the paper's version. Healing (section 5) is in
// package heal.
//
// # Guarantees
//
// AtomRace is sound in the sense of "no false alarms":
//
//   - Every race that is reported is a data race of the observed execution: no synchronization orders
//     the two accesses. Condition: a thread does not synchronize while an access of it is pending,
//     except by the access itself if that is atomic.
//   - Every atomicity violation that is reported is one of a given section. If the accesses to the
//     variable are made under a lock or are atomic, the reported access really happened between the
//     entry and the end. Otherwise the reported access may have overlapped the access at the entry or
//     at the end. Then either order was possible, and if the two accesses conflict they are a data
//     race besides.
//   - A stream of events satisfies the condition: an access of a stream is pending until the next
//     event of its thread at most.
//
// docs/design/atomrace.md has the argument.
//
// AtomRace is not complete. It misses accesses that could have overlapped but did not; noise makes
// them fewer. It also misses accesses for which a table had no room; [Detector.Missed] counts them.
//
// # Cost and concurrency
//
// The tables have a fixed size of about 1.6 MB. They are lock-free: threads publish a pending access
// by one atomic exchange and then look at one cache line for others. See [Detector] for the cost of an
// event, and for which methods may be called at the same time.
//
// # Usage
//
// Programs that are instrumented by hand, or by a tool, call [Detector.BeforeAccess],
// [Detector.AfterAccess], [Detector.AtomExit] and [Detector.EndThread] from all their threads. The
// numbers are the program's choice: 0, 1, 2 and so on for threads; the address of a variable, or
// any multiple of 8, for the variable; and for a site what heisen.Symbols.AddSite returns. The same
// Symbols has the names of variables (SetName) and threads (SetThread) for reports. Call AddSite
// once for each place in the source, not once for each access.
//
// Recorded traces and other streams go to [Detector.HandleRecords]. Accesses of a stream overlap only
// as far as the order of events shows it. Traces of runs without noise therefore rarely show anything.
//
// The heisen command uses neither: an instrumented program contains the same tables
// (internal/core/atomrace).
//
// Package section describes atomic sections and keeps them in files.
package atomrace
