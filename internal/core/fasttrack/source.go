package fasttrack

import "embed"

// Source has the files that are injected into package runtime.
//
//go:embed table.go shadowcell.go refresh.go access.go bytehistory.go overflow.go readers.go atomic.go clock.go inlineclock.go memory.go
//go:embed sync.go releaseclock.go lockreuse.go partner.go slots.go tails.go owners.go coverage.go reclaim.go reclaimslots.go
var Source embed.FS
