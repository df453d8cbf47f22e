// Package static has what the analyses of source code have in common: the inference of sections, ownership,
// patches and enforcement ask it, so that each question has one answer.
//
//	program.go the source of a module: files, functions, and how functions are used
//	calls.go   what a call calls, and whether it returns
//	stdlib.go  what is known of functions of the standard library, whose bodies no analysis looks at
//	locks.go   which functions are operations on locks
//
// The last two are tables: a new lock type, or a new fact about a function, is an entry.
package static
