package report

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestHistory: a text says on one line what earlier runs know, and nothing of what is new.
func TestHistory(t *testing.T) {
	for _, c := range []struct {
		history *History
		want    string
	}{
		{nil, ""},
		{&History{State: "new"}, ""},
		{&History{State: "known", First: "2026-11-02"}, "\nKnown since 2026-11-02\n"},
		{&History{State: "back", First: "2026-11-02", Gone: "2026-11-09"}, "\nBack: known since 2026-11-02, and gone on 2026-11-09\n"},
		{&History{State: "known", First: "2026\n\x1b[2J"}, "\nKnown since 2026"},
	} {
		f := &Finding{Kind: heisen.Race, Detector: "fasttrack", Count: 1, Fingerprint: "0a", Accesses: []Access{}, History: c.history}
		var full, short strings.Builder
		if err := WriteText(&full, f); err != nil {
			t.Fatal(err)
		}
		if err := (&Brief{}).Write(&short, f); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{full.String(), short.String()} {
			if !strings.Contains(text, c.want) || strings.Contains(text, "\x1b") || c.want == "" && strings.Contains(text, "nown") {
				t.Errorf("%+v:\n%s", c.history, text)
			}
		}
	}
}
