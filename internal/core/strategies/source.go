package strategies

import "embed"

// Source is the files that are injected into package runtime.
//
//go:embed pick.go random.go log.go meeting.go postpone.go
//go:embed walk.go pct.go directed.go deadlock.go section.go replay.go follow.go
var Source embed.FS
