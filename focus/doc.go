// Package focus says which memory a program protects in which way, and leaves out the checks that this
// makes needless.
//
// A [Variable] is what the source declares: a field of a struct type, or a package-level variable.
// Its [Owner] is the way in which the program keeps accesses to it apart: one goroutine has it, it
// is only read after it was published, it is handed over, or a lock guards it.
//
//   - A [Discoverer] proposes owners for the variables that recorded runs access.
//   - A [Plan] has the owners of a program's variables and what was proved of its functions. It is a
//     file, tied to the source of which it was proved. What its statements mean, [Protection] and
//     [Properties] say.
//   - A [Filter] stands in front of a detector and leaves out the accesses that a Plan proves safe.
//   - An [Atomicity] says how a piece of code mixes with other goroutines, under each set of held
//     locks. [InferAtomicity] computes those of functions from their code, which its caller describes,
//     and [VerifiedAtomic] lists the functions that are atomic at every call.
//
// The package knows neither source code nor the layout of memory: its callers say which variable an
// access is of. The algorithms are those of Agarwal, Sasturkar, Wang and Stoller, "Optimized Run-Time
// Race Detection and Atomicity Checking Using Partial Discovered Types" (ASE 2005), sections 3 to 6.
//
// A Discoverer or Filter belongs to one goroutine. Values of the other types may be read by several.
package focus
