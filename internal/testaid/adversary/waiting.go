package main

import (
	"regexp"
	"slices"
)

// A wait says which fragments or bugs heisen is known to break or miss, and why. They are left out of the programs for the
// modes that it names until heisen is mended. -waiting tries them.
type wait struct {
	names  *regexp.Regexp
	modes  []string
	reason string
}

var waiting = []wait{}

// waits reports whether a fragment or a bug is left out for a mode.
func waits(name, mode string) bool {
	return slices.ContainsFunc(waiting, func(w wait) bool {
		return slices.Contains(w.modes, mode) && w.names.MatchString(name)
	})
}
