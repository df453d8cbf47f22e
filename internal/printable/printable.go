// Package printable makes text safe to show on a terminal. Names in traces, findings and other files
// may come from anybody. Sequences of control characters in them could move the cursor, hide lines
// or change the title of the window, and marks of the writing direction could make code look like
// other code.
//
// A character that is not graphic is replaced by \u and its number in four hexadecimal digits, or by
// two such of UTF-16, and a byte that is no UTF-8 by \x and two digits. In JSON, the former is the
// same string.
package printable

import (
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s on one line: with spaces in the place of tabs and ends of lines, and all other
// characters replaced that are not graphic.
func Text(s string) string {
	if harmless(s, false) {
		return s
	}
	return string(appendText(nil, s, false))
}

// Lines returns s with all characters replaced that are neither graphic nor tabs nor ends of lines, which are \n or \r\n.
func Lines(s string) string {
	if harmless(s, true) {
		return s
	}
	return string(appendText(nil, s, true))
}

// NewWriter returns a writer that passes text to w as Lines returns it. A character must not be cut
// in two writes, and neither must an end of a line.
func NewWriter(w io.Writer) io.Writer { return writer{w} }

type writer struct{ w io.Writer }

// Write implements io.Writer. It calls the underlying Write once.
func (w writer) Write(p []byte) (int, error) {
	if harmless(p, true) {
		return w.w.Write(p)
	}
	if _, err := w.w.Write(appendText(nil, p, true)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func graphic(r rune, lines bool) bool {
	return lines && (r == '\t' || r == '\n') || r >= ' ' && r < 0x7f || r >= 0xa0 && unicode.IsGraphic(r)
}

// endsLine reports whether "\r\n" stands at an index.
func endsLine[T string | []byte](s T, i int) bool {
	return s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n'
}

// harmless reports whether there is nothing to replace.
func harmless[T string | []byte](s T, lines bool) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if !graphic(rune(c), lines) && !(lines && endsLine(s, i)) {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if size <= 1 || !graphic(r, lines) {
			return false
		}
		i += size
	}
	return true
}

func appendText[T string | []byte](b []byte, s T, lines bool) []byte {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		switch {
		case r == utf8.RuneError && size <= 1:
			b = append(b, '\\', 'x', digits[s[i]>>4], digits[s[i]&15])
		case graphic(r, lines), lines && endsLine(s, i):
			b = append(b, s[i:i+size]...)
		case !lines && (r == '\t' || r == '\n' || r == '\r'):
			b = append(b, ' ')
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = appendUnit(appendUnit(b, high), low)
		default:
			b = appendUnit(b, r)
		}
		i += size
	}
	return b
}

const digits = "0123456789abcdef"

func appendUnit(b []byte, r rune) []byte {
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
