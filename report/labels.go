package report

import (
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
)

// FormatLabels returns labels as the runtime prints them in tracebacks, such as {handler: search, user: "A B"}. It
// returns the empty string if there are none.
func FormatLabels(labels []Label) string {
	if len(labels) == 0 {
		return ""
	}
	all := make([]string, len(labels))
	for i, l := range labels {
		all[i] = quotedLabel(l.Key) + ": " + quotedLabel(l.Value)
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// quotedLabel returns a key or value, between quotes if it has other characters than the simplest.
func quotedLabel(s string) string {
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '/', r == '_':
		default:
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

func labelsOf(set []heisen.Label) (all []Label) {
	for _, l := range set {
		all = append(all, Label(l))
	}
	return all
}
