// Package replay executes a predicted schedule against a window and checks every step: program
// order, locks, messages, barrier pairs, and the values that reads must see.
//
// It starts from the window alone and imports neither the model nor any search, so that a mistake
// there cannot hide in the check of their witnesses.
package replay
