package report

import "fmt"

// History is what earlier runs know of a finding.
type History struct {
	// State is new if no earlier run has found it, known if the one before has, and back if that has not, but an earlier one.
	State string `json:"state"`
	First string `json:"first,omitempty"` // the day when it was found first, such as 2026-11-02; not of a new one
	Gone  string `json:"gone,omitempty"`  // of one that is back, the day of the first run that had not found it any more
}

// told says what earlier runs know, on a line; nothing of a finding that is new.
func (h *History) told() string {
	switch {
	case h == nil:
		return ""
	case h.State == "known":
		return fmt.Sprintf("Known since %s", h.First)
	case h.State == "back":
		return fmt.Sprintf("Back: known since %s, and gone on %s", h.First, h.Gone)
	}
	return ""
}
