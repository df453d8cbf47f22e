package report

import "fmt"

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
