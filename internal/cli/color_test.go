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
		noColor, force, term string
		want, anywhere       bool
	}{
		{"", "", "xterm", true, false},
		{"1", "", "xterm", false, false},
		{"", "", "dumb", false, false},
		{"", "1", "dumb", true, true},
		{"", "true", "xterm", true, true},
		{"", "3", "", true, true},
		{"", "0", "xterm", true, false},
		{"", "false", "xterm", true, false},
		{"1", "1", "xterm", false, false},
	} {
		t.Setenv("NO_COLOR", test.noColor)
		t.Setenv("FORCE_COLOR", test.force)
		t.Setenv("TERM", test.term)
		if got := inColor(terminal); got != test.want {
			t.Errorf("NO_COLOR=%s FORCE_COLOR=%s TERM=%s: color %v", test.noColor, test.force, test.term, got)
		}
		if inColor(file) != test.anywhere || inColor(new(bytes.Buffer)) != test.anywhere {
			t.Errorf("NO_COLOR=%s FORCE_COLOR=%s TERM=%s: color in a file or buffer, or none", test.noColor, test.force, test.term)
		}
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("FORCE_COLOR", "")
	t.Setenv("TERM", "xterm")
	var safe bytes.Buffer
	f := &report.Finding{Kind: heisen.Race, Fingerprint: "01"}
	to := &reports{full: true}
	if err := to.printTo(&safe, file)(f); err != nil || !strings.Contains(safe.String(), "\nWARNING: DATA RACE\n") {
		t.Errorf("to a file: %v, %q", err, safe.String())
	}
	safe.Reset()
	if err := to.printTo(&safe, terminal)(f); err != nil || safe.Len() > 0 {
		t.Errorf("to a terminal: %v, %q", err, safe.String())
	}
	t.Setenv("FORCE_COLOR", "1")
	var forced bytes.Buffer
	if err := to.printTo(&safe, &forced)(f); err != nil || !strings.Contains(forced.String(), "\x1b[") {
		t.Errorf("with FORCE_COLOR: %v, %q", err, forced.String())
	}
}
