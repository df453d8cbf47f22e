package pick

import "embed"

// Source is the files that are injected into package runtime.
//
//go:embed pick.go random.go walk.go
var Source embed.FS
