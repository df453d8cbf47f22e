// Package static has what the analyses of source code have in common: the inference of sections, ownership,
// patches and enforcement ask it, so that each question has one answer.
//
//	program.go     the source of a module: files, functions, and how functions are used
//	calls.go       the function that a call names, and whether it returns
//	callgraph.go   the functions that a call may call
//	callbacks.go   the functions that code outside of the module may call back
//	path.go        how a function names a variable, and how the functions that it calls do
//	definitions.go local variables that keep their value
//	heldlocks.go   which locks are held where, over all functions
//	lockflow.go    which locks are held where, in one function
//	waits.go       where a goroutine may wait, and for how long
//	polls.go       where a goroutine waits by looking again and again
//	stdlib.go      what is known of functions of the standard library, whose bodies no analysis looks at
//	locks.go       which functions are operations on locks
//
// The last two are tables: a new lock type, or a new fact about a function, is an entry.
package static
