// Package heal makes programs keep the atomicity that their correct executions had. It finds pairs of accesses
// that were atomic in correct executions, finds out where a function must acquire and release locks so that they
// always are, and orders these locks so that they cannot deadlock. It implements Weeratunge, Zhang and
// Jagannathan, Accentuating the Positive: Atomicity Inference and Enforcement Using Correct Executions (OOPSLA
// 2011).
//
// It also suppresses bugs while a program runs, which is section 5 of Letko, Vojnar, Křena: AtomRace: Data Race and
// Atomicity Violation Detector and Healer (PADTAD 2008). See Live.
//
// # Locks for programs
//
// These steps work on abstract programs: streams of events, and control-flow graphs whose nodes access
// variables, operate on locks, and call functions. The package changes no program itself. The locks are in package
// lock.
//
//   - A Profiler takes the events of correct executions and makes a Profile (section 6).
//   - Profile.Groups finds variables that belong together, and Profile.Grouped makes one variable of each group (section 5).
//   - Place takes the control flow of a function and the atomic pairs of a variable in it, and makes a Placement:
//     where the lock of the variable is acquired, released, and degraded (section 7).
//   - Resolve places the locks of a whole program so that they deadlock neither with each other nor with the locks
//     of the program (section 8).
//
// # Guarantees
//
// If a program makes the operations of a Resolution, then in each of its executions: every pair of a variable is
// atomic as its mode says; every access to such a variable excludes conflicting accesses; and there is no deadlock
// that the program does not have without the operations. The operations only wait and change no values, so each
// execution is one that the program may have without them. This is about locks: if a thread that holds an inserted
// lock waits for a message or a condition, which another thread sends only once it has the lock, both wait for ever
// (section 9 of the paper). Held.Pause of package lock is for that.
//
// # Differences from the paper
//
//   - There is a third mode, Update. In the paper a thread that holds a lock for reading may go on to hold it
//     exclusively. Two threads that do so at the same time wait for each other.
//   - A write within a pair that permits remote reads is made exclusively. Otherwise it could interfere with the
//     pair of another thread that also permits remote reads. Single accesses are protected likewise; the paper
//     leaves out these rules.
//   - The lock is released as soon as no pair can be completed without another access on the way. The paper looks
//     for one access that every path must make.
//   - An order of two locks that are both acquired for reading is not left out of the lock-order graph. It is part
//     of a deadlock if others hold and want the two locks exclusively. Whether one thread waits for another is
//     decided by the modes of both.
//   - A lock of the program that is acquired for reading waits for writers that wait, as sync.RWMutex does. The
//     inserted locks are assumed to let readers pass.
//
// docs/design/healing.md explains them.
//
// # Live healing
//
// A Live follows threads through atomic sections, as atomrace.Detector does, and tells a Healer when one begins and
// ends. NewYield and NewStandBack make failures rarer. NewHealingLocks prevents them, except where a lock would make
// threads wait for ever. A Live changes when threads run and nothing else.
//
// # Concurrency
//
// A Profiler belongs to one goroutine. Place and Resolve may be called at the same time, also with the same
// arguments. The threads of a program share a Live and a Healer.
package heal
