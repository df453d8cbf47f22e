//go:build heisen_inject

package runtime

// A run has one mode. It is chosen before main starts, from what the analyzer wants (docs/design/modes.md), and says
// what an access and a synchronization do:
//
//	mode      for                    in hooks                                      sent
//	follow    fasttrack              races by happens-before, and nothing else     findings
//	both      fasttrack and others   races first; what is not redundant is sent    findings, events
//	watch     atomrace               overlaps of two accesses, and nothing else    findings
//	explore   fuzz, replay           a point, then races                           findings, choices
//	record    everything else        a point, hidden code, overlaps, races, each   findings, events
//	                                 if it is wanted; then the event               unless only findings are
//
// The first four have shortcuts for what they never do. A mode that record could replace makes a run
// cheaper and changes nothing else, except for follow: a program in this mode can go on without an analyzer.

type heisenRunMode uint8

const (
	heisenModeRecord heisenRunMode = iota
	heisenModeFollow
	heisenModeBoth
	heisenModeWatch
	heisenModeExplore
)

// racesFirst reports whether races are looked for before anything else.
//
//go:nosplit
func (m heisenRunMode) racesFirst() bool { return m == heisenModeFollow || m == heisenModeBoth }

// heisenModeOf returns the mode for what is wanted.
func heisenModeOf(r *heisenRecorder) heisenRunMode {
	o := &heisenOverlaps
	switch {
	case r.races && !r.overlaps && !r.detour:
		if r.quiet {
			return heisenModeFollow
		}
		return heisenModeBoth
	case r.races && !r.overlaps && r.quiet && heisenSched.on:
		return heisenModeExplore
	case r.overlaps && !r.races && r.quiet && !r.detour && !r.noisy && !o.sections && !o.brief && !o.held && !heisenHealing.on:
		return heisenModeWatch
	}
	return heisenModeRecord
}

// off ends the recording.
//
//go:nosplit
func (r *heisenRecorder) off() {
	r.on = false
	if r.mode == heisenModeWatch { // whose shortcut does not look at on
		r.mode = heisenModeRecord
	}
}
