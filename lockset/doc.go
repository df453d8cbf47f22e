// Package lockset detects by the locks that threads hold.
//
// Eraser reports variables that no lock protects, Hybrid pairs of accesses that
// neither a lock nor a message keeps apart, and LockOrder locks that are taken in
// orders which can end in a deadlock. None of them needs a bug to happen: they say
// what the use of locks in one run lets happen in others, and claim no more.
//
// Table interns locksets: small sorted sets with a dense ID, equal IDs for equal
// sets, and memoised operations. Holds follows which locks each thread of a
// stream holds, in which mode. Both are for the use of other detectors too.
// LockOrder does without them, for it asks which sets have a lock, and forgets
// them with it.
package lockset
