package source

import "strings"

// Synchronizes reports whether a function belongs to the packages that implement synchronization.
func Synchronizes(function string) bool {
	for _, pkg := range [...]string{"sync.", "sync/atomic.", "internal/sync.", "internal/race.", "internal/runtime/", "runtime."} {
		if strings.HasPrefix(function, pkg) {
			return true
		}
	}
	return false
}
