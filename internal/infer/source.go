package infer

import "github.com/heisen-go/heisen/internal/ssaload"

// Source selects the packages to analyze.
type Source = ssaload.Source

// Note is a remark about the source that concerns the quality of a result.
type Note = ssaload.Note

// ErrPackages is wrapped by errors about packages that do not exist or do not compile.
var ErrPackages = ssaload.ErrPackages
