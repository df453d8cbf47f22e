package strategies

import "embed"

// Source holds the files that are injected into package runtime.
//
//go:embed task.go scheduler.go random.go choice.go meeting.go order.go postpone.go
//go:embed pct.go pos.go race.go deadlock.go section.go replay.go follow.go delay.go explore.go families.go
var Source embed.FS
