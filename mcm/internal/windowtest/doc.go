// Package windowtest helps to test the predictor: it makes random windows that an execution can show,
// and enumerates all states of small ones as the reference for exactness.
//
// RandomWindow executes a random program of the given Shape, one event at a time. The same source of
// random numbers gives the same window, and stored answers of other solvers depend on that.
// Enumerate searches all states that feasible reorderings reach with the machine of package replay.
// It takes time and memory exponential in the number of threads, and windows have at most 64 records.
//
// Nothing in this package may be used by several goroutines.
package windowtest
