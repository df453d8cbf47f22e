// Package static obtains atomic sections from Go source (section 4 of the paper by
// Letko, Vojnar and Křena that package atomrace is about): three analysers in the
// sense of golang.org/x/tools/go/analysis, and [Infer], which runs them over
// packages. [Uses] finds the accesses to a variable, for noise that is to hit them.
//
// The analysers work on the SSA form of one package at a time. From each access to a
// variable that goroutines may share they follow control on all ways, into the
// functions of the package that are surely called and, where the pattern is of
// that kind, back to the callers, until they come to an access that makes a section
// with the first. What they know is approximate, and errs in these directions.
//
//   - Shared variables. Too many: package-level variables, whatever can be reached
//     through a pointer of a type whose values may get to another goroutine, and
//     local variables and what a function has made from where they get out of its
//     hands, be it only to a function of another package. A section that no other
//     goroutine ever reaches is never broken. Too few: a value that gets to another
//     goroutine by unsafe code or reflection only.
//   - Variables that never change once they are shared are no section's, as far as
//     that can be seen: a field, package-level or captured variable that only this
//     package can write, is written before it is shared or in an init function only,
//     and has its address taken nowhere.
//   - The same variable: two accesses by the same path from the same value. One
//     that goes by another path, such as an alias, is missed. At run time the
//     address decides, so what is taken for the same and is not does no harm. All
//     elements of a map are one variable, as the runtime has it, but a test and a
//     store of different keys belong to no section.
//   - Locks. A section is left out if one lock is held from its entry to all its
//     ends: taken before in the same function, by a method Lock or RLock, and not
//     released in between, neither in the function nor by one that it surely calls, and
//     belonging to the variable: a package-level lock, or one reached from the same
//     value. A reader's lock is none for a section that writes. A lock that callers
//     hold is not known, which leaves sections in that cannot be broken; a lock that
//     others do not take when they access the variable leaves some out that can,
//     and that is a race which the detectors of races find.
//   - Ends are the next accesses that make the section, on every way. A way that
//     leads out of the function without one needs no end. Because a section ends at a
//     line of source and not at an instruction, control could come to an end's line
//     after it has left the section for good, on another turn of a loop; then
//     there is no such section. What deferred functions do is not followed.
//   - Calls. Control is followed three calls down, into functions of the package
//     that are called by name, and two calls up, to callers by name in the package. A
//     test in a caller, or a store by one, of what a function has read makes a
//     section only if all its callers are known: it is not exported, not used as a
//     value, and no method of its name is called through an interface.
//   - What has been tested again in the branch, as double-checked locking does, and
//     what a compare-and-swap or a swap checks, is no section.
//
// Accesses are at the lines that the compiler gives them, which line directives
// change as they change the compiler's. Functions init are left out: other
// goroutines do not run beside them unless they start them. What cgo makes of a file
// is analysed in place of the file, and a [Note] says so.
package infer
