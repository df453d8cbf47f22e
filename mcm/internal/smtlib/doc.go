// Package smtlib writes the query whether two events of a window can be pending at the same time as
// an SMT-LIB 2 script, so that other solvers can check the answers.
//
// It starts from the window and the facts of package replay, and imports neither the model nor any
// search.
//
// Algorithm. The script is in integer difference logic (QF_IDL), as in TREE and RDIT, section 4.4.4.
// O<i> is the place of record i in the order, and R the instant at which both records are pending. A
// constraint holds or one of its records comes after R, which makes Algorithm 9 maximal. With
// ControlFlow, M<i> states that it matters what record i reads.
//
// Guarantees. The script is satisfiable if and only if the query is possible.
//
// Cost. The size of the script is quadratic in the critical sections of a lock and in the records that
// keep their order, and cubic in the accesses to a cell.
//
// Concurrency. A call of Write belongs to one goroutine.
package smtlib
