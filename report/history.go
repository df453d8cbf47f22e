package report

import "fmt"

// History is what earlier runs know of a finding.
type History struct {
	State string `json:"state"`           // New, Known or Back
	First string `json:"first,omitempty"` // the day when it was found first, such as 2026-11-02; not of a new one
	Gone  string `json:"gone,omitempty"`  // of one that is back, the day of the first run that had not found it any more
}

// States of findings.
const (
	New   = "new"   // no earlier run has found it
	Known = "known" // the run before has found it, too
	Back  = "back"  // an earlier run has found it, and the one before this one has not
)

// told says what earlier runs know, on a line; nothing of a finding that is new.
func (h *History) told() string {
	switch {
	case h == nil:
		return ""
	case h.State == Known:
		return fmt.Sprintf("Known since %s", h.First)
	case h.State == Back:
		return fmt.Sprintf("Back: known since %s, and gone on %s", h.First, h.Gone)
	}
	return ""
}
