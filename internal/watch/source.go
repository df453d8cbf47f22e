package watch

import _ "embed"

// Core is the text of core.go, for the injection.
//
//go:embed core.go
var Core string
