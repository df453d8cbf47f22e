// Package words takes texts apart.
package words

import "strings"

func Split(text string) []string { return strings.Fields(text) }

// Join is used by nobody.
func Join(all []string) string { return strings.Join(all, " ") }
