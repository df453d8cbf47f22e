// Command sdktools tries tools that know the flag -race with a Go installation that heisen sdk has made: a debugger, a
// language server, a builder of container images, plugins, the compiler and the linker as the rules of Bazel call them, and the
// go command in a container. Each must build a program with a race by it, in its own way, and show the report of heisen.
//
//	go run ./internal/testaid/sdktools [delve | gopls | ko | plugin | rules | container]...
//
// The tools are Go modules of fixed versions. They are installed into a temporary folder, from the module proxy. Plugins
// and rules need a C compiler, the container needs root. The Go installation has no links and is moved before it is used, as
// into a container.
package main
