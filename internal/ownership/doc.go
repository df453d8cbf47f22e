// Package ownership finds out from source code which variables of a program cannot race, and why: which lock
// guards them, that one goroutine alone accesses them, or that nobody writes them after publication. It is
// the static check of Agarwal, Sasturkar, Wang and Stoller, "Optimized Run-Time Race Detection and Atomicity
// Checking Using Partial Discovered Types", sections 4 and 6.1.1, for Go.
//
// [Analyze] looks at all packages of a program that belong to one module. What other packages do with the
// program's variables it cannot see, so a variable that these may access is race-unsafe, and so is one that
// is accessed in a way that the analysis does not follow. See the list of reasons in exposed.go.
//
// A [Result] has a focus.Plan, with the lines of the source on which nothing needs to be recorded, and the reasons.
//
// The files are in the order of the work:
//
//	source.go    packages and functions
//	memory.go    what an address is an address of
//	typekey.go   names for types that identical ones share
//	place.go     how a function reaches a variable, so that a lock can be found beside it
//	pointers.go  variables of named slices and maps that pointers lead to
//	boxes.go     where values in interfaces get, and so what calls of methods through them call
//	boxcode.go   what instructions add to the graph of these values
//	reflected.go which types may be accessed by reflection
//	locks.go     which locks are held at an instruction
//	classes.go   sets of the variables that locks are
//	publish.go   up to where an object that a function has made is known to nobody else
//	access.go    reads and writes
//	transfer.go  stores by which goroutines get to know objects
//	exposed.go   what accesses cannot be seen
//	holders.go   whether a variable alone has its slice or map
//	callers.go   calls, and what callers hold
//	alone.go     what runs before goroutines are started and after they have ended
//	handover.go  objects that a new goroutine gets for itself
//	local.go     objects that one goroutine alone ever knows: a graph of where they get
//	flow.go      what instructions add to that graph
//	check.go     the rules, and their greatest fixed point
//	guard.go     which lock is held at all accesses
//	singles.go   types of which there is one object, so that a lock in it is known by its name
//	proofs.go    what holds whenever a function is called
//	lines.go     lines of safe accesses
//	movers.go    what instructions contribute to the atomicity of functions
//	atomic.go    which functions are atomic
//	plan.go      the plan
//	annotations.go
//	             comments that say what guards a variable
//	annotate.go  a patch that adds such comments
package ownership
