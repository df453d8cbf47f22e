// Package overlap makes findings of accesses that overlap: the races and atomicity violations that
// AtomRace finds, wherever it runs. Package atomrace finds them in streams and hand-instrumented
// programs, and the injected core of internal/core/atomrace finds them in running programs. All of
// them report through this package, so that equal bugs have equal findings.
package overlap

import (
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/section"
)

// Race returns the finding for an access that begins while a conflicting one is pending. The caller
// sets the detector's name.
func Race(pending, later heisen.Access) heisen.Finding {
	return heisen.Finding{
		Kind: heisen.Race, Object: max(pending.Object, later.Object),
		Message:  later.Op.Words() + " races with earlier " + pending.Op.Words() + ", which is not over",
		Accesses: []heisen.Access{pending, later},
	}
}

// Violation returns the finding for an atomic section that remote accesses interrupted. The
// accesses are the one at the section's entry, those of others that the end does not allow, in
// their order, and the one at the end. With fewer than three the message names no access. The
// caller sets the detector's name.
func Violation(accesses []heisen.Access) heisen.Finding {
	f := heisen.Finding{
		Kind: heisen.Atomicity, Message: "an atomic section was violated",
		Accesses: append([]heisen.Access(nil), accesses...),
	}
	if len(accesses) > 0 {
		f.Object = accesses[len(accesses)-1].Object
	}
	if len(accesses) > 2 {
		f.Message = violationMessage(accesses)
	}
	return f
}

// violationMessage names each access of others that the section does not allow, with its row in
// table 1 of the AtomRace paper if it has one. Interleaving.Description says more.
func violationMessage(accesses []heisen.Access) string {
	var parts []string
	first, last := accesses[0], accesses[len(accesses)-1]
	for _, remote := range accesses[1 : len(accesses)-1] {
		i := section.Interleaving{First: section.ModeOf(first.Op), Remote: section.ModeOf(remote.Op), Last: section.ModeOf(last.Op)}
		part := remote.Op.Words() + " between " + first.Op.Words() + " and " + last.Op.Words() + " of an atomic section"
		if i.Serializable() {
			part += ", which does not allow it"
		} else {
			part += ", " + i.String()
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}
