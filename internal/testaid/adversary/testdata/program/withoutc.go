//go:build !cgo

package adversary

// Without C, these fragments do nothing.

func callsC(*run) {}

func memoryOfC(*run) {}
