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
