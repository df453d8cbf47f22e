//go:build heisen_inject && !unix && !windows

package runtime

import "unsafe"

// There is no connection to an analyzer. Programs look for races themselves and print them (alone.go); the
// heisen command does not ask for anything else.

func heisenConnect(string) (to, from int32) { return -1, -1 }

func heisenPrintNoConnection(int32) { print("programs do not connect on this system") }

func heisenSendto(int32, unsafe.Pointer, uintptr) int { return -1 }

func heisenTakeDescriptors(int32) bool { return false }

func heisenGetppid() uintptr { return 0 }
