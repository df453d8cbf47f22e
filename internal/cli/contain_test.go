package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/cli"
)

// wild is a detector that reports its first event and panics at one event, or at the end.
type wild struct {
	sink     heisen.Sink
	at, seen int
}

func (w *wild) Handle(e heisen.Event) {
	if w.seen++; w.seen == 1 {
		w.sink(heisen.Finding{Kind: "strange", Message: "the first event", Accesses: []heisen.Access{heisen.AccessOf(heisen.AsRecord(e), 1)}})
	}
	if w.seen == w.at {
		panic(fmt.Sprint("wild at event ", w.seen))
	}
}

func (w *wild) Flush() error {
	if w.at == 0 {
		var none []int
		none[w.seen]++
	}
	return nil
}

// TestDetectorPanics: a detector that panics is named, what it found before is reported, and so is what the
// others find after it, in each form of a report.
func TestDetectorPanics(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.std")
	if err := os.WriteFile(file, []byte("T0|w(a)|f.go:1\nT0|w(b)|f.go:2\nT1|w(b)|f.go:3\nT1|w(a)|f.go:4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 1, 2, 4} {
		for _, args := range [][]string{
			{"analyze", "-detect", "wild,fasttrack", file},
			{"analyze", "-detect", "fasttrack,wild", "-filter", "tree", file},
			{"analyze", "-detect", "wild,hb", "-report", "json", file},
			{"view", "-detect", "wild,hb", "-o", os.DevNull, file},
		} {
			tool := cli.Tool{Detectors: []cli.Detector{{
				Name: "wild", Promise: "nothing",
				New: func(_ *heisen.Symbols, sink heisen.Sink) (heisen.Detector, error) {
					return &wild{sink: sink, at: at}, nil
				},
			}}}
			var out, errs bytes.Buffer
			status := cli.Main(context.Background(), tool, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if status != cli.Failed || !strings.Contains(errs.String(), "detector wild has panicked") || !strings.Contains(errs.String(), "please report") || !strings.Contains(errs.String(), "contain_test.go:") {
				t.Errorf("panic at %d, %v: status %d\n%s", at, args, status, errs.String())
			}
			if args[0] == "analyze" && (!strings.Contains(out.String(), "f.go:3") || !strings.Contains(out.String(), "f.go:4") || !strings.Contains(out.String(), "the first event")) {
				t.Errorf("panic at %d, %v: not everything is reported\n%s", at, args, out.String())
			}
		}
	}
}
