//go:build !linux

package build

// runSandboxed does nothing: the tests that need it are for Linux.
func runSandboxed() {}
