package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestColorText checks that a text in colors is the plain text with sequences that end on their line,
// and that nothing in a finding can add one.
func TestColorText(t *testing.T) {
	sequence := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for name, f := range allFindings() {
		for _, hostile := range []bool{false, true} {
			if hostile {
				f.Message += "\x1b[5m" + asWarning
				f.Replay = asHeading + "\x1b[2J"
			}
			var plain, color bytes.Buffer
			if err := WriteText(&plain, &f); err != nil {
				t.Fatal(err)
			}
			if err := WriteColorText(&color, &f); err != nil {
				t.Fatal(err)
			}
			if got := sequence.ReplaceAllString(color.String(), ""); got != plain.String() {
				t.Errorf("%s without its sequences is\n%s\nwant\n%s", name, got, plain.String())
			}
			if strings.ContainsAny(plain.String(), "\x1b"+asWarning+asHeading+asSource+asIs) {
				t.Errorf("%s: marks or sequences in %q", name, plain.String())
			}
			for line := range strings.Lines(color.String()) {
				if n := len(sequence.FindAllString(line, -1)); n%2 != 0 || n > 0 && !strings.Contains(line, "\x1b[m") {
					t.Errorf("%s: the color of %q does not end", name, line)
				}
			}
			if !strings.HasPrefix(color.String(), frameLine+"\n\x1b[1;31mWARNING: ") {
				t.Errorf("%s: no color in %q", name, color.String())
			}
		}
	}
}
