package atomrace

import "embed"

// Source is the files that are injected into package runtime.
//
//go:embed core.go sections.go
var Source embed.FS
