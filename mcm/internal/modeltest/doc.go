// Package modeltest helps to test the searches of the predictor: it makes models of random windows,
// computes the answers to their queries, and checks witnesses by replaying them.
//
// Answers come from package reach and the solver, so that tests of other searches compare with an
// independent implementation. Nothing in this package may be used by several goroutines.
package modeltest
