// Package infer proposes atomic sections from Go source. It implements section 4 of Letko, Vojnar,
// Křena: AtomRace: Data Race and Atomicity Violation Detector and Healer (PADTAD 2008): three
// patterns as analyzers in the sense of golang.org/x/tools/go/analysis, and [Infer], which runs
// them over packages. [Uses] finds the accesses to a variable, for noise at these places.
//
// # Algorithm
//
// The analyzers work on the SSA form of one package at a time. An access to a variable that
// goroutines may share can be the entry of a section. From each such access the analysis follows
// all paths: into functions of the package that are certainly called, and, if what it read is
// returned, back into callers. A path ends at the first access that makes a section with the entry,
// according to the pattern:
//
//   - [LoadAndStore]: the variable is written with a value that is derived from the value read;
//   - [TestAndUse]: the variable is used in a branch that a test of it decides on;
//   - [Consecutive]: the accesses come one after the other (section 4.2).
//
// # Guarantees
//
// The result is an approximation. For each question the analysis errs on one side:
//
//   - Is a variable shared? It errs on the side of yes. Shared are package-level variables,
//     everything reachable through a pointer whose type can reach another goroutine, and local
//     variables and allocations from the point where they escape their function. A section that no
//     other goroutine reaches is never violated. Exception: values that reach another goroutine
//     only by unsafe code or reflection count as not shared.
//   - Does a variable change after it is shared? It errs on the side of yes. Sections on variables
//     that never change are left out.
//   - Do two accesses concern the same variable? It errs on the side of no: only if they use the
//     same path from the same value. Aliases are missed. All elements of a map are one variable, as
//     in the runtime, but a test and a store of different keys make no section.
//   - Is a lock held from the entry to all ends? Then the section cannot be violated and is left
//     out. A lock that each of two accessors takes for itself does not count; one that a caller holds
//     around both does. The analysis errs on the side of no if callers are unknown. It errs on the side of
//     yes if other accesses to the variable do not take the lock; those are races, which the race
//     detectors find. See docs/design/section-inference.md for which locks count.
//   - Where does a section end? At the next access that makes the section, on every path. A path
//     that leaves the function needs no end. If control can reach the line of an end after it has
//     left the section for good, there is no section. An end in an accessor that other callers use,
//     too, names the functions in which it is an end. Deferred functions are not followed.
//   - Which calls are followed? Three calls down and two calls up, within the package: calls by name,
//     and of an interface of the package that one of its types implements. A result counts as derived
//     from what the entry read if it is computed from that, or if a test of that selects it.
//
// A variable that is tested again in the branch (double-checked locking), and one that a
// compare-and-swap or a swap checks, makes no section. If accesses are in different functions, any
// test of what is read again counts.
//
// Locations are the lines that the compiler gives to accesses, including the effect of line
// directives. Functions named init are left out. Files that use cgo are analyzed as cgo rewrites
// them, which a [Note] reports.
//
// # Cost and concurrency
//
// Type-checking, and time about linear in the size of the packages: a few seconds for 100,000 lines.
// Infer and Uses run the go command. They may be called at the same time.
package infer
