package build

import (
	"fmt"
	"strings"
)

// Words splits a list of words as the go command splits GOFLAGS and the value of -exec: there may
// be single or double quotes around a whole word.
func Words(list string) (words []string, err error) {
	const space = " \t\n\r"
	for list = strings.TrimLeft(list, space); list != ""; list = strings.TrimLeft(list, space) {
		end, after := strings.IndexAny(list, space), 0
		if quote := list[0]; quote == '\'' || quote == '"' {
			list = list[1:]
			if end = strings.IndexByte(list, quote); end < 0 {
				return nil, fmt.Errorf("unterminated %c string", quote)
			}
			after = 1
		} else if end < 0 {
			end = len(list)
		}
		words = append(words, list[:end])
		list = list[end+after:]
	}
	return words, nil
}

// joinWords returns a list that Words splits into the given words.
func joinWords(words []string) (string, error) {
	var list []string
	for _, word := range words {
		switch {
		case word != "" && !strings.ContainsAny(word, " \t\n\r'\""):
		case !strings.Contains(word, "'"):
			word = "'" + word + "'"
		case !strings.Contains(word, `"`):
			word = `"` + word + `"`
		default:
			return "", fmt.Errorf("the go command cannot read a word with both kinds of quotes: %s", word)
		}
		list = append(list, word)
	}
	return strings.Join(list, " "), nil
}
