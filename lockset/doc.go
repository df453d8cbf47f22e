// Package lockset detects by the locks that threads hold.
//
// Table interns locksets: small sorted sets with a dense ID, equal IDs for equal
// sets, and memoised operations. Holds follows which locks each thread of a
// stream holds, in which mode. Both are for the use of other detectors too.
package lockset
