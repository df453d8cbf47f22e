//go:build heisen_inject && !linux

package runtime

// No process is forked at the end of its prologue. See fork_linux.go.

func heisenForksLater() {}

func heisenWhyNotFork() string { return "this system cannot" }

//go:nosplit
func heisenOnlyLooks(trap, a1, a2, a3 uintptr) bool { return true }

func heisenFork(bool) { exit(0) }
