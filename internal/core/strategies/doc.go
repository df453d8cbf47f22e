// Package pick decides which of a program's tasks goes on: the scheduling
// strategies of package racefuzz as state machines over integers.
//
// It is the one core of two hosts. Package racefuzz drives it on models of programs,
// and its files are injected into package runtime of real programs, by their text,
// where they choose among goroutines. So what is in Source keeps the rules that hold
// there: no allocation, no maps, no interfaces, no imports, nothing that blocks,
// integers for all that a host may call a task, a place or a variable, and memory
// that the host hands over at the start.
package strategies
