//go:build heisen_inject && !linux

package runtime

import "unsafe"

// There is no connection to an analyzer. Programs look for races themselves and print them (alone.go); the
// heisen command does not ask for anything else.

func heisenConnect(string) int32 { return -38 } // ENOSYS

func heisenSendto(int32, unsafe.Pointer, uintptr) int { return -1 }

func heisenTakeDescriptors(int32) bool { return false }

// heisenIdentity is what identifies an open file.
type heisenIdentity struct{}

func heisenIdentityOf(int32) heisenIdentity { return heisenIdentity{} }

func heisenGetppid() uintptr { return 0 }
