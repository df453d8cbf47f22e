// Package unhook removes calls of the recorder's hooks from a linked program, where a focus.Plan says that an
// access needs no checking.
//
// The compiler's race instrumentation is decided by package, and a plan by line. So a program is compiled
// with all hooks, and the linker's output is changed: [Program] replaces the calls of the hooks for accesses
// on the given lines by instructions that do nothing. What is left of such a hook is the computation of its
// arguments. Calls of growslice, which reports what it reads, go to heisenGrowslice, which reports nothing. [Link] does
// this as a wrapper of the linker, for the go command's -toolexec.
//
// # Guarantees
//
// Only call instructions whose target is a hook of an access or growslice are replaced, and calls that report
// the entry and exit of functions which call nothing else that could report anything. A function with an instruction
// that cannot be decoded stays as it is. A file that is no ELF executable made by Go for a supported
// processor, or has no symbol table, is an error that wraps [ErrFormat], and is not changed.
//
// # Cost
//
// Program reads the code once. It takes some tens of milliseconds for a program of 20 MB.
package unhook
