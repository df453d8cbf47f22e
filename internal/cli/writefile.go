package cli

import (
	"io"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/section"
)

// writeSections writes a sections file, or to standard output.
func (inv *invocation) writeSections(name string, sections []section.Section) error {
	if name == stdStream {
		return section.Encode(inv.Out, sections)
	}
	return private.Replace(name, func(w io.Writer) error { return section.Encode(w, sections) })
}
