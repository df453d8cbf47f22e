//go:build !linux

package resident

func dropExecutable() {}
