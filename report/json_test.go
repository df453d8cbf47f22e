package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
)

// TestFieldNames: the required fields are there in each finding, even if they are empty. Renaming a
// field breaks the programs that read it.
func TestFieldNames(t *testing.T) {
	for name, f := range allFindings() {
		var line bytes.Buffer
		if err := WriteJSON(&line, &f); err != nil {
			t.Fatal(err)
		}
		if strings.Count(line.String(), "\n") != 1 {
			t.Errorf("%s is not one line: %q", name, line.String())
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(line.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"detector", "kind", "fingerprint", "count", "message", "accesses"} {
			if _, ok := got[key]; !ok {
				t.Errorf("%s: no field %q among %q", name, key, slices.Sorted(maps.Keys(got)))
			}
		}
		var accesses []map[string]json.RawMessage
		if err := json.Unmarshal(got["accesses"], &accesses); err != nil {
			t.Fatal(err)
		}
		for _, a := range accesses {
			for _, key := range []string{"op", "thread", "object", "site", "stack", "locks"} {
				if _, ok := a[key]; !ok {
					t.Errorf("%s: no field %q among %q", name, key, slices.Sorted(maps.Keys(a)))
				}
			}
			for _, key := range []string{"stack", "locks"} {
				if a[key][0] != '[' {
					t.Errorf("%s: %s is %s, want an array", name, key, a[key])
				}
			}
		}
	}
}

// TestEndingWithoutItsAccess checks that a report with an ending whose First is no index of an access
// is printed without it.
func TestEndingWithoutItsAccess(t *testing.T) {
	for _, first := range []int{-7, -1, 2, 7} {
		line := fmt.Sprintf(`{"kind":"race","fingerprint":"1","accesses":[{"op":"read"},{"op":"write"}],`+
			`"trials":{"executions":1,"confirmed":1,"endings":[{"outcome":"passed","confirmed":true,"count":1,"first":%d}]}}`, first)
		all, err := ReadJSON(strings.NewReader(line))
		if err != nil || len(all) != 1 {
			t.Fatalf("%d findings, error %v", len(all), err)
		}
		var text bytes.Buffer
		if err := WriteText(&text, &all[0]); err != nil || !strings.Contains(text.String(), "  passed, seed 0\n") {
			t.Errorf("first %d: error %v, printed\n%s", first, err, &text)
		}
	}
}

func TestReadJSON(t *testing.T) {
	var want []Finding
	var lines bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(allFindings())) {
		f := allFindings()[name]
		if err := WriteJSON(&lines, &f); err != nil {
			t.Fatal(err)
		}
		lines.WriteString("\r\n") // empty lines and others' line ends are passed over
		want = append(want, f)
	}
	got, err := ReadJSON(&lines)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadJSONErrors(t *testing.T) {
	const good = `{"kind":"race","fingerprint":"00","later":{"field":1}}` + "\n"
	for _, test := range []struct {
		in, message string
		findings    int
		is          error
	}{
		{in: "", findings: 0},
		{in: good + good, findings: 2},
		{in: good[:len(good)-1], findings: 1},
		{in: good + "{}\n", findings: 1, message: "line 2", is: ErrFinding},
		{in: good + "\n" + `{"kind":`, findings: 1, message: "line 3"},
		{in: good + `{"kind":7}`, findings: 1, message: "line 2", is: ErrFinding},
		{in: "[]", message: "line 1", is: ErrFinding},
		{in: "5", message: "line 1", is: ErrFinding},
		{in: `"x"`, message: "line 1", is: ErrFinding},
		{in: `{"kind":"race","fingerprint":"00","accesses":5}`, message: "line 1", is: ErrFinding},
		{in: `{"kind":"race"}`, message: "line 1", is: ErrFinding},
		{in: "null", message: "line 1", is: ErrFinding},
		{in: good + strings.Repeat("x", maxLine+1), findings: 1, message: "line 2"},
	} {
		got, err := ReadJSON(strings.NewReader(test.in))
		if len(test.in) > 100 {
			test.in = test.in[:100]
		}
		if len(got) != test.findings {
			t.Errorf("%q: %d findings, want %d", test.in, len(got), test.findings)
		}
		if test.message == "" != (err == nil) {
			t.Errorf("%q: error %v, want %q", test.in, err, test.message)
		}
		if err != nil && !strings.Contains(err.Error(), test.message) {
			t.Errorf("%q: error %v, want %q", test.in, err, test.message)
		}
		if errors.Is(err, ErrFinding) != (test.is == ErrFinding) {
			t.Errorf("%q: error %v, want %v", test.in, err, test.is)
		}
	}
}

// TestIncompleteFindings: what ReadJSON would refuse is not written, and is in no baseline.
func TestIncompleteFindings(t *testing.T) {
	complete := Finding{Kind: heisen.Race, Fingerprint: "01"}
	for _, f := range []Finding{{}, {Kind: heisen.Race}, {Fingerprint: "01"}} {
		var b Baseline
		b.Add(complete)
		b.Add(f)
		var out bytes.Buffer
		if err := b.Write(&out); !errors.Is(err, ErrFinding) || out.Len() > 0 {
			t.Errorf("baseline with %+v: error %v, written %q", f, err, &out)
		}
		if b.Contains(&Finding{Kind: heisen.Race}) {
			t.Errorf("a baseline contains what has no fingerprint")
		}
		if err := WriteJSON(&out, &f); !errors.Is(err, ErrFinding) || out.Len() > 0 {
			t.Errorf("%+v: error %v, written %q", f, err, &out)
		}
	}
	var b Baseline
	b.Add(complete)
	var out bytes.Buffer
	if err := b.Write(&out); err != nil || !strings.Contains(out.String(), `"certainty":"confirmed"`) {
		t.Errorf("error %v, written %q", err, &out)
	}
	if again, err := ReadBaseline(&out); err != nil || !again.Contains(&complete) {
		t.Errorf("read again: error %v", err)
	}
}

// TestLayout: line ends in texts do not break the lines of a report, and a detector without a name
// leaves no gap.
func TestLayout(t *testing.T) {
	f := Finding{
		Detector: "a\nb", Kind: "live\nlock", Message: "one\r\ntwo", Variable: "x\ty", Fingerprint: "01", Count: 2,
		Accesses: []Access{{Op: "read", Goroutine: "T0", Object: "x", Site: "f.go:1"}},
	}
	var text bytes.Buffer
	if err := WriteText(&text, &f); err != nil {
		t.Fatal(err)
	}
	if got := strings.SplitN(text.String(), "\n", 5); got[1] != "WARNING: LIVE LOCK" || got[2] != "x y: one  two" || got[3] != "Found by a b 2 times, fingerprint 01" {
		t.Errorf("text:\n%s", &text)
	}
	if got := f.String(); strings.ContainsAny(got, "\r\n\t") {
		t.Errorf("string %q", got)
	}
	f.Detector = ""
	text.Reset()
	if err := WriteText(&text, &f); err != nil || !strings.Contains(text.String(), "\nFound 2 times, fingerprint 01\n") {
		t.Errorf("error %v, text:\n%s", err, &text)
	}
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	f := textTraceFinding()
	if err := WriteJSON(fullDisk{}, &f); !errors.Is(err, errFull) {
		t.Errorf("WriteJSON: %v", err)
	}
	if err := WriteText(fullDisk{}, &f); !errors.Is(err, errFull) {
		t.Errorf("WriteText: %v", err)
	}
}

// FuzzReadJSON: what is read is written and read again the same.
func FuzzReadJSON(f *testing.F) {
	for _, finding := range allFindings() {
		var line bytes.Buffer
		if err := WriteJSON(&line, &finding); err != nil {
			f.Fatal(err)
		}
		f.Add(line.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		first, _ := ReadJSON(bytes.NewReader(in))
		var lines, text bytes.Buffer
		for i := range first {
			if err := WriteJSON(&lines, &first[i]); err != nil {
				t.Fatal(err)
			}
			if err := WriteText(&text, &first[i]); err != nil {
				t.Fatal(err)
			}
		}
		again := lines.String()
		second, err := ReadJSON(&lines)
		if err != nil || len(second) != len(first) {
			t.Fatalf("%d findings became %d: %v", len(first), len(second), err)
		}
		var rewritten bytes.Buffer
		for i := range second {
			if err := WriteJSON(&rewritten, &second[i]); err != nil {
				t.Fatal(err)
			}
		}
		if rewritten.String() != again {
			t.Errorf("written again:\n%s\nbefore:\n%s", rewritten.String(), again)
		}
	})
}
