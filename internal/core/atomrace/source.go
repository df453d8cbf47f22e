package atomrace

import "embed"

// Source is the files that are injected into package runtime.
//
//go:embed table.go entries.go wide.go sections.go
var Source embed.FS
