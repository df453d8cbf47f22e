// Package words takes texts apart.
package words

import "strings"

func Split(text string) []string { return strings.Fields(text) }

// Join is used by nobody.
func Join(all []string) string { return strings.Join(all, " ") }

// Set is generic.
type Set[T comparable] struct{ all []T }

// Add has the receiver of a generic type.
func (s *Set[T]) Add(x T) { s.all = append(s.all, x) }
