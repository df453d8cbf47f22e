// Package library has benchmarks of programs that spend their time in the standard library and in
// dependencies. They were chosen by what they use, before anything was measured. Command
// bench/overhead runs them. The package is a module of its own, so that its dependencies are not
// those of heisen.
package library
