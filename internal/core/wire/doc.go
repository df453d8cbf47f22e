// Package wire defines the format of what a program and the analyzer send to each other: the records of
// a program's buffers, its messages, and what the analyzer asks for.
//
// The package has two hosts. Package internal/recorder reads what programs send. It also injects the text of
// this package into package runtime of instrumented programs, where each name gets the prefix heisen.
// Source has the injected files. They have constants only.
package wire
