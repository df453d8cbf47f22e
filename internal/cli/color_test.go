package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

func TestInColor(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal:", err)
	}
	defer terminal.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, test := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", test.noColor)
		t.Setenv("TERM", test.term)
		if got := inColor(terminal); got != test.want {
			t.Errorf("NO_COLOR=%s TERM=%s: color %v", test.noColor, test.term, got)
		}
		if inColor(file) || inColor(new(bytes.Buffer)) {
			t.Error("color in a file or buffer")
		}
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	var safe bytes.Buffer
	f := &report.Finding{Kind: heisen.Race, Fingerprint: "01"}
	if err := printTo(&safe, file)(f); err != nil || !strings.Contains(safe.String(), "\nWARNING: DATA RACE\n") {
		t.Errorf("to a file: %v, %q", err, safe.String())
	}
	safe.Reset()
	if err := printTo(&safe, terminal)(f); err != nil || safe.Len() > 0 {
		t.Errorf("to a terminal: %v, %q", err, safe.String())
	}
}
