package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// wellFormed parses a drawing and returns its texts.
func wellFormed(t *testing.T, svg []byte, err error) (texts []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, strings.TrimSpace(string(text)))
		}
	}
}

func TestBars(t *testing.T) {
	b := Bars{Title: "a < b", Axis: "times", Mark: 1, Marked: "-race", Names: []string{"p&q", "r"},
		Series: []Series{{Name: "CPU", Values: []float64{0.5, 2}}, {Name: "memory", Values: []float64{math.NaN(), 1234.5}}}}
	svg, err := b.SVG()
	texts := wellFormed(t, svg, err)
	for _, want := range []string{"a < b", "times", "-race", "p&q", "r", "CPU", "memory", "0.5", "2", "1\u202f234"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is not in %q", want, texts)
		}
	}
	if strings.Contains(string(svg), "NaN") || strings.Count(string(svg), `height="11"`) != 3 {
		t.Errorf("got\n%s", svg)
	}
	for _, wrong := range []Bars{{}, {Names: []string{"a"}, Series: []Series{{Name: "s"}}}, {Names: []string{"a"}, Series: []Series{{Name: "s", Values: []float64{0}}}}} {
		if _, err := wrong.SVG(); err == nil {
			t.Errorf("%+v is drawn", wrong)
		}
	}
}

func TestLines(t *testing.T) {
	for _, logarithmic := range []bool{false, true} {
		l := Lines{Title: "T", X: "events", Y: "ns", LogX: true, LogY: logarithmic, Series: []Series{
			{"one", []float64{1, 20, 300}, []float64{10, 1000, 100000}}, {"two", []float64{0, math.NaN(), 5}, []float64{10, 1000, 100000}}}}
		svg, err := l.SVG()
		texts := wellFormed(t, svg, err)
		for _, want := range []string{"T", "events", "ns", "one", "two", "10", "1\u202f000", "100\u202f000"} {
			if !slices.Contains(texts, want) {
				t.Errorf("%q is not in %q", want, texts)
			}
		}
		marks := 5 // a logarithm has no place for 0
		if logarithmic {
			marks = 4
		}
		if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") || strings.Count(string(svg), "<circle") != marks {
			t.Errorf("got\n%s", svg)
		}
	}
	for _, wrong := range []Lines{{}, {Series: []Series{{"s", []float64{1}, []float64{1}}}}, {Series: []Series{{"s", []float64{1}, []float64{1, 2}}}}} {
		if _, err := wrong.SVG(); err == nil {
			t.Errorf("%+v is drawn", wrong)
		}
	}
}

// TestLinesApart: series with places of their own share an axis of round numbers.
func TestLinesApart(t *testing.T) {
	l := Lines{LogX: true, Series: []Series{{"one", []float64{1, 2}, []float64{4, 900}}, {"two", []float64{1, 2}, []float64{5, 1100}}}}
	svg, err := l.SVG()
	texts := wellFormed(t, svg, err)
	if !slices.Contains(texts, "10") || !slices.Contains(texts, "1\u202f000") || slices.Contains(texts, "900") {
		t.Errorf("got %q", texts)
	}
}

// TestNumber: numbers are short.
func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.981: "0.98", 1.5: "1.5", 20: "20", 999: "999", 1000: "1\u202f000", 2500000: "2\u202f500\u202f000"} {
		if got := number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	if got := linearTicks(1.5); len(got) < 5 || len(got) > 11 || got[len(got)-1] > 1.51 {
		t.Errorf("ticks to 1.5: %v", got)
	}
}
