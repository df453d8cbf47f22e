// Package reformat formats Go files after they were changed.
package reformat

import (
	"bytes"
	"go/format"
)

// byteOrderMark may stand at the beginning of a Go file. Package format removes it.
var byteOrderMark = []byte("\ufeff")

// Like returns a changed file in the form of the old one: formatted if that was, apart from a byte order mark and the ends of its lines. The
// mark stays as it was, and the ends of all lines become the old one's. Text that does not parse is not formatted.
func Like(old, changed []byte) []byte {
	mark := []byte(nil)
	if bytes.HasPrefix(old, byteOrderMark) {
		mark = byteOrderMark
	}
	crlf := bytes.Contains(old, []byte("\r\n"))
	plain := func(text []byte) []byte {
		return bytes.ReplaceAll(bytes.TrimPrefix(text, byteOrderMark), []byte("\r\n"), []byte("\n"))
	}
	was, text := plain(old), plain(changed)
	if clean, err := format.Source(was); err == nil && bytes.Equal(clean, was) {
		if clean, err := format.Source(text); err == nil {
			text = clean
		}
	}
	if crlf {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return append(mark[:len(mark):len(mark)], text...)
}
