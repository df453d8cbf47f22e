// Package plural has numbers with the names of what is counted.
package plural

import (
	"fmt"
	"strings"
)

// Of returns a number with the name of what is counted, which is given in the singular: "1 test", "2 tests", "0 queries".
func Of(n int, name string) string {
	if n == 1 {
		return "1 " + name
	}
	switch stem, y := strings.CutSuffix(name, "y"); {
	case y && !strings.ContainsAny(stem[max(len(stem)-1, 0):], "aeou"):
		name = stem + "ie"
	case strings.HasSuffix(name, "s"):
		name += "e"
	}
	return fmt.Sprintf("%d %ss", n, name)
}

// Part returns how many of all are meant. The name agrees with their number: "1 of 1 test", "1 of 2 tests".
func Part(n, all int, name string) string {
	return fmt.Sprintf("%d of %s", n, Of(all, name))
}

// Form returns the form of a word that agrees with a number, such as of a verb.
func Form(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
