// Package focus says which memory a program protects in which way, so that checking can be left out
// where nothing can be wrong.
//
// A [Variable] is what the source declares: a field of a struct type, or a package-level variable.
// Its [Owner] is the way in which the program keeps accesses to it apart: one goroutine has it, it
// is only read after it was published, it is handed over, or a lock guards it. A [Plan] has the owners of
// a program's variables and what was proved of its functions, in a file, tied to the source.
//
// An [Atomicity] says how a piece of code mixes with other goroutines, under each set of held locks.
// [InferAtomicity] computes those of functions from their code, which its caller describes, and
// [VerifiedAtomic] lists the functions that are atomic at every call.
package focus
