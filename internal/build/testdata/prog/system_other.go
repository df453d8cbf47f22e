//go:build !linux

package main

// The other programs of these kinds are for Linux.

func descriptors() map[string]func() { return nil }

func signalNoRaces() map[string]func() { return nil }

func systemScheduled() map[string]func() { return nil }
