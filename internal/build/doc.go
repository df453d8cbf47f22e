// Package build compiles a user's packages with the recorder inside.
//
// It runs the stock go command with two additions: an overlay of files of the user's own GOROOT,
// and the compiler's race instrumentation for the packages whose accesses are recorded. The user's
// files and go.mod stay as they are. [New] prepares a [Builder] for a folder; its methods build
// programs and tests.
//
// # Method
//
// The overlay (overlay.go) adds the files of package recorder to package runtime, in place of
// race.go, and patches the runtime, sync, testing and a few other packages (patch.go). A patch is
// tied to a declaration and to syntax, never to a line, so it works for all supported releases. All
// operations of sync/atomic become calls that the recorder sees (atomics.go). Overlays are made
// from the toolchain's own sources, named by their content, and shared by concurrent builds.
//
// Packages are compiled in one of three ways (build.go): with all hooks, with all hooks and without
// inlining, or so that only atomic operations are calls.
//
// [WriteSDK] makes a GOROOT of the same files, in which -race means heisen (sdk.go, sdkfiles.go). Its go command is built
// from its source with one check changed; the rest of the package works with the stock one.
//
// # Guarantees
//
// Errors that wrap [ErrUnsupported] mean that this Go release, platform or installation cannot be
// instrumented: an unknown release, or a source that does not look as a patch expects. Nothing is
// built then. An [Error] is what the go command said about the user's packages.
//
// # Cost
//
// The first build for a toolchain compiles the needed part of the standard library once more, in
// about half a minute. The go command caches the result.
//
// # Concurrency
//
// A Builder is safe for concurrent use except while [Builder.Hide] runs.
package build
