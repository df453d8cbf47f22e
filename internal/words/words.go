// Package words has the syntax of lines that the files of sections and plans share. Words are separated by
// blanks. A word that contains blanks, or begins with # or ", is quoted as in Go. A # where a word could
// begin starts a comment, which ends with the line.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Split returns the words of a line and the comment behind them.
func Split(line string) (words []string, comment string, err error) {
	for {
		line = strings.TrimLeftFunc(line, unicode.IsSpace)
		switch {
		case line == "":
			return words, "", nil
		case line[0] == '#':
			return words, strings.TrimRightFunc(strings.TrimPrefix(line[1:], " "), unicode.IsSpace), nil
		case line[0] == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, "", fmt.Errorf("invalid quoted word: %s", line)
			}
			word, _ := strconv.Unquote(quoted)
			line = line[len(quoted):]
			if next, _ := utf8.DecodeRuneInString(line); line != "" && !unicode.IsSpace(next) {
				return nil, "", fmt.Errorf("want a blank after %s", quoted)
			}
			words = append(words, word)
		default:
			end := strings.IndexFunc(line, unicode.IsSpace)
			if end < 0 {
				end = len(line)
			}
			words = append(words, line[:end])
			line = line[end:]
		}
	}
}

// Quote returns s as one word, quoted if it must be.
func Quote(s string) string {
	if s == "" || s[0] == '#' || s[0] == '"' || !utf8.ValidString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
