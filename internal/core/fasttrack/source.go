package fasttrack

import "embed"

// Source is the files that are injected into package runtime.
//
//go:embed table.go cells.go again.go accesses.go crowds.go atomics.go clocks.go few.go objects.go peers.go slots.go
var Source embed.FS
