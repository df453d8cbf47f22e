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

var waiting = []wait{
	{
		names:  regexp.MustCompile(`^(child.*|signal.*|sockets|clientTimeouts|systemCalls)$`),
		modes:  []string{"fuzz"},
		reason: "virtual time runs ahead of signals, child processes, sockets and system calls, so that timeouts pass",
	},
	{
		names:  regexp.MustCompile(`^files$`),
		modes:  []string{"fuzz"},
		reason: "executions side by side share TMPDIR and have the same random names",
	},
	{
		names:  regexp.MustCompile(`^bugReadUnlocked$`),
		modes:  []string{"planted"},
		reason: "TryLock never fails in executions of heisen fuzz",
	},
	{
		names:  regexp.MustCompile(`^(pools|reflection)$`),
		modes:  []string{"planted"},
		reason: "replays of programs that use sync.Pool, as calls by reflection do, may differ from what was found",
	},
}

// waits reports whether a fragment or a bug is left out for a mode.
func waits(name, mode string) bool {
	return slices.ContainsFunc(waiting, func(w wait) bool {
		return slices.Contains(w.modes, mode) && w.names.MatchString(name)
	})
}
