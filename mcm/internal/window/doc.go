// Package window defines the input of the predictor: a window of consecutive events of a stream, the
// state before it that matters, and the witnesses of queries about it. It also classifies the
// operations of events.
//
// Locks follows the locks that threads hold, which takes constant time for each event unless an
// allocation covers many locks. Threads.Witness takes time in proportion to the witness.
//
// A Window is not changed after it was made. Locks and Threads belong to one goroutine.
package window
