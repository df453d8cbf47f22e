package cli

import (
	"errors"
	"io"
	"os"

	"github.com/heisen-go/heisen/section"
)

// replaceFile replaces a file atomically. After an error the old file remains.
func replaceFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// writeSections writes a sections file, or to standard output.
func (inv *invocation) writeSections(name string, sections []section.Section) error {
	if name == stdStream {
		return section.Encode(inv.Out, sections)
	}
	return replaceFile(name, func(w io.Writer) error { return section.Encode(w, sections) })
}
