package wire

import "embed"

// Source is the files that are injected into package runtime.
//
//go:embed records.go messages.go requests.go
var Source embed.FS
