// Package races makes the findings of races that several packages report in the same words:
// detectors, and the command when an instrumented program has detected something by itself.
package races

import "github.com/heisen-go/heisen"

// Unordered returns a finding of two conflicting accesses that happens-before does not order.
// detector is the name as the -detect flag takes it, and object the first byte that both touch.
func Unordered(detector string, object heisen.Object, earlier, later heisen.Access) heisen.Finding {
	return heisen.Finding{
		Detector: detector,
		Kind:     heisen.Race,
		Object:   object,
		Message:  later.Op.Words() + " races with earlier " + earlier.Op.Words(),
		Accesses: []heisen.Access{earlier, later},
	}
}
