// Package smtlib writes the query whether two events of a window can be pending at the same time as
// an SMT-LIB script, so that other solvers can check the answers.
//
// It starts from the window and the facts of package replay, and imports neither the model nor any
// search.
package smtlib
