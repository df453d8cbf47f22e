// Package accesstable finds the instructions of a linked program that access variables, and writes them as a table at
// the end of the executable. The sampler of package sampler reads it there: at these instructions it may stop a
// goroutine, and no others are ever changed.
//
// # Method
//
// Find disassembles the program (decode.go), and the same program built with all accesses instrumented (hooks.go). An instruction
// that reads or writes memory is a place if the instrumented build tells the race detector of such an access in the same source
// line, if neither build has an atomic operation in that line, if it is not in a package that synchronizes or that a handler of
// signals may run (packages.go), and if it is none that the compiler has added (find.go). docs/design/field.md has the argument why
// two places at which goroutines meet are then a data race.
//
// # Guarantees
//
// What cannot be told for sure is left out and counted, see Stats. A function whose instructions cannot all be decoded, or in
// which a jump leads into the middle of an instruction, is left out as a whole. Lines are those of the innermost function where
// functions were expanded, also in programs without symbols, with trimmed paths, and in position-independent ones.
//
// # Cost
//
// Find takes about a second and 50 MB for a program of ten megabytes. An entry of the table has 16 bytes.
//
// # Concurrency
//
// All functions may be called concurrently for different files.
package accesstable
