// Package fasttrack is the FastTrack race detector that runs inside instrumented programs.
//
// It keeps shadow memory for the program's words and vector clocks for its threads and
// synchronization objects. Many threads use one [Table] at the same time. The files that source.go
// lists are injected into package runtime, with the runtime's atomics in place of sync/atomic;
// internal/recorder/inject calls them from the hooks that the compiler inserts. Package vclock has
// FastTrack for event streams.
//
// # Algorithm
//
// FastTrack: Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race Detection", PLDI
// 2009, section 3, Figures 2 and 5. The rules and the functions that implement them:
//
//	READ/WRITE SAME EPOCH     SameEpochByte, SameEpochWord, SameEpochBeside,         shadowcell.go, refresh.go
//	                          SameEpochAtomic, Lookup
//	  in the overflow set     sameEpochInOverflow                                    overflow.go
//	  in histories of bytes   SameEpochInBytes                                       bytehistory.go
//	READ/WRITE EXCLUSIVE      AccessOwn, AccessWiden (the thread's own entries);     access.go
//	                          AccessPlainEntries, AccessNoRace (entries of others);
//	                          AccessBytes (histories of bytes)                       bytehistory.go
//	READ SHARE                AccessPlainEntries, AccessNoRace; addToOverflow when   access.go, overflow.go
//	                          the cell is full
//	  in sets of readers      addReader, gatherReaders                               readers.go
//	READ SHARED               Refresh, RefreshFound, RefreshLoad, refreshInOverflow  refresh.go, overflow.go
//	WRITE SHARED              accessEntries, accessSmallOverflow, accessOverflow     access.go, overflow.go
//	the premises (≼)          compareEntry, with the tables conflicts and replaces   access.go
//	ACQUIRE                   acquire, acquireInPlace                                releaseclock.go
//	RELEASE                   releaseStore, releaseJoin                              releaseclock.go
//	READ/WRITE VOLATILE       AtomicInPlace, BeginLoad; Sync with Receive, Store     atomic.go, sync.go
//	FORK, JOIN                Fork; Sync with Send and Receive                       slots.go, sync.go
//
// [Table.Access] and [Table.Atomic] in host.go show the order in which a program tries them: the
// cheapest first, AccessLocked last. Only AccessInCell and AccessLocked report races. The others
// return false, and leave the cell as it was, when they find a conflict or anything they don't
// handle.
//
// Terms:
//
//   - A time counts the releases of a thread. An epoch is a slot and a time, clock@thread in the
//     paper. A slot is an index of vector clocks; threads hand slots on (slots.go, tails.go), and
//     slots that ended threads leave behind are reclaimed (reclaim.go).
//   - A shadow cell describes a word of 8 bytes: a head and up to three entries. An entry is an
//     epoch and the place of an access. Its descriptor, in the head, has the bytes that were
//     accessed and the kind of access. Entries that don't fit are in the word's overflow set, or the
//     cell has the history of each byte instead of entries (bytehistory.go). An entry may stand for a
//     set of readers, which words share (readers.go).
//   - A release clock is what releases store in a synchronization object: L_m in the paper.
//
// The package differs from the paper in these points. Each byte of a word has its own history, so a
// cell has several entries. Reads that are concurrent are separate entries rather than a read
// vector clock. Atomic operations are accesses that don't race with each other, and also
// synchronize. An epoch of a thread is as good as an earlier one as long as no other thread can
// have learned of the thread in between; the same-epoch rules accept both (lockreuse.go).
//
// # Guarantees
//
// Every reported pair is a race of the observed happens-before order: no false alarms, as long as
// [Table.Exhausted] is false. For every byte that races, the first race is reported, with these
// exceptions, in which races may be missed:
//
//   - There are not enough slots: more than ownedSlots (16,192) threads are alive, or Reclaim has not
//     been called in time. Further threads share slots, and count as ordered after each other
//     ([Table.SlotSharers]). Or the epochs that ended threads have left behind differ, in more than
//     some thousand ways, in who has learned of them. Then some are forgotten
//     ([Table.ForgottenEpochs]).
//   - A thread begins without a parent after a reclamation. To it counts as ordered what all threads
//     that were alive then had learned.
//   - A thread releases a lock that another one has acquired, and the latter goes on without having
//     synchronized. Its accesses under the lock before the release may be missed.
//
// # Cost
//
// A cell has 16 bytes for each word of 8 bytes. Two more entries (16 bytes) are reserved beside it
// and touched only when several entries are in use. A same-epoch access takes three loads and no
// store. An access in a new epoch of the same thread takes a compare-and-swap. Others lock the cell
// for the time of at most three comparisons, unless the word has an overflow set. With one block of
// threads (64), acquire and release take time linear in the number of slots in use; a lock that
// comes back to its thread, or passes between the same two threads, takes constant time. A
// reclamation goes through all cells and clocks.
//
// # Concurrency
//
// All methods are safe for concurrent use as long as each Thread is used by one at a time. None
// blocks for longer than other threads hold a cell's lock or the lock of a free list. The protocols:
//
//   - Cell lock. Bit 0 of the head. Lock swaps in a head with that bit only: the owner keeps the
//     old head. Other code locks with a compare-and-swap of the head that it has examined. Unlock
//     stores the new head with release semantics. Only the owner changes the head, the number of
//     entries, release clocks and the overflow set.
//   - Same-epoch check, without the lock. Only a thread itself writes entries with its epoch, and
//     only it moves them. If another thread is removing such an entry at that moment, its access
//     races with the thread's earlier one.
//   - Refresh, without the lock. A compare-and-swap replaces an entry of the thread; the head is
//     loaded before and after. If the head has changed, the refresh does not count.
//   - Atomic loads, without the lock: a sequence lock. A release increments the version before it
//     changes the word of a release clock, and the cell is locked meanwhile (BeginLoad,
//     LoadUnchanged).
//   - Vector clocks are copied on write. The holder of the only reference to a vector, node or
//     block may change it in place: no other thread can get a reference (memory.go).
//
// Atomic loads acquire, storeRelease releases; nothing relies on a stronger order except through
// compare-and-swap and swap.
//
// Package runtime restricts the injected files: no allocation, no pointers in shared memory, no
// stack growth, hence go:nosplit and small frames; indices are masked so that no bounds check
// remains. host.go is what differs between package runtime (internal/recorder/inject/shadow.go) and
// tests. docs/design/happens-before-in-programs.md has the reasons and the measurements.
package fasttrack
