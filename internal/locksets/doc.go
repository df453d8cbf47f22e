// Package locksets interns sets of locks and tracks which locks the threads of a stream hold. It
// serves the detectors of package lockset.
//
// A Table stores each set of locks once, as Savage et al. do in Eraser (TOCS 1997, section 3.2): a
// set is a small number, equal sets have equal numbers, and the results of operations are
// memoized. A Tracker has, for each thread, the set of locks that it holds, and gives a lock a new
// number when the stream shows that it did not exclude.
//
// A Table and its Tracker must be used by one goroutine at a time.
package locksets
