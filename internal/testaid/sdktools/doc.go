// Command sdktools tries tools that know the flag -race with a Go installation that heisen sdk has made: a debugger, a
// language server, a builder of container images, and plugins. Each must build a program with a race by it, in its own
// way, and show the report of heisen.
//
//	go run ./internal/testaid/sdktools [delve | gopls | ko | plugin]...
//
// The tools are Go modules of fixed versions. They are installed into a temporary folder, from the module proxy. Plugins
// need a C compiler. The Go installation has no links and is moved before it is used, as into a container.
package main
