package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestFormatLabels compares with what tracebacks of Go 1.27 show.
func TestFormatLabels(t *testing.T) {
	for _, c := range []struct {
		labels []Label
		want   string
	}{
		{nil, ""},
		{[]Label{{"key", "value"}}, "{key: value}"},
		{[]Label{{"a.b/c_9", "Z"}, {"", "1"}}, "{a.b/c_9: Z, : 1}"},
		{[]Label{{"a b", "1-2"}}, `{"a b": "1-2"}`},
		{[]Label{{"k", "\"\\\n\té\x01"}}, `{k: "\"\\\n\t\u00e9\x01"}`},
	} {
		if got := FormatLabels(c.labels); got != c.want {
			t.Errorf("%q: %s, want %s", c.labels, got, c.want)
		}
	}
}

// TestLabels: labels stand beside the goroutine, and no fingerprint has them.
func TestLabels(t *testing.T) {
	symbols := heisen.NewSymbols()
	labels := symbols.AddLabels([]heisen.Label{{Key: "worker", Value: "1\n2"}})
	access := heisen.Access{Op: heisen.Write, Thread: 3, Object: 8, Labels: labels}
	with := heisen.Finding{Kind: heisen.Race, Message: "m", Accesses: []heisen.Access{{Op: heisen.Read, Object: 8}, access}}
	f := (*Resolver)(nil).Resolve(with, symbols)
	var text bytes.Buffer
	if err := WriteText(&text, &f); err != nil {
		t.Fatal(err)
	}
	if want := "\nWrite by goroutine 3 {worker: \"1"; !strings.Contains(text.String(), want) || strings.Contains(text.String(), "1\n2") {
		t.Errorf("no %q in\n%s", want, &text)
	}
	if want := "\nPrevious read by main goroutine at 0x8:"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, &text)
	}
	with.Accesses[1].Labels = 0
	if without := (*Resolver)(nil).Resolve(with, symbols); without.Fingerprint != f.Fingerprint || without.Accesses[1].Labels != nil {
		t.Errorf("without labels: %+v", without)
	}
	blocked := Blocked{Goroutine: "goroutine 9", Test: "TestX", Labels: []Label{{"job", "j"}}, Reason: "select"}
	if want := "Goroutine 9 (TestX) {job: j} is blocked: select"; !strings.Contains(blocked.String(), want) {
		t.Errorf("no %q in %s", want, blocked)
	}
}
