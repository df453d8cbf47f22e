// Package broken has twenty types whose methods call accessors that lock, each by itself. Nothing in
// it is a data race. What is meant to be atomic is not: between two accessors, another goroutine can
// come in.
package broken
