// Package plot draws results as SVG: bars for programs, and lines for what grows.
package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// colors are those of series, which also people with a color deficiency can distinguish.
var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#000000"}

// A canvas collects the elements of a drawing.
type canvas struct {
	width, height int
	out           strings.Builder
}

// text writes a text at a place. The anchor is start, middle or end; more has further attributes.
func (c *canvas) text(x, y float64, anchor, text, more string) {
	fmt.Fprintf(&c.out, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, more, escape(text))
}

// line draws a straight line.
func (c *canvas) line(x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(&c.out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x1, y1, x2, y2, style)
}

// svg returns the drawing as a file with a white background.
func (c *canvas) svg(title string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="13" fill="#222">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="%d" y="24" text-anchor="middle" font-size="16" font-weight="bold">%[3]s</text>
%[5]s</svg>
`, c.width, c.height, escape(title), c.width/2, c.out.String())
}

func escape(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) // a Buffer takes everything
	return b.String()
}

// Bars compares programs: each has a bar for each series.
type Bars struct {
	Title  string
	Axis   string  // what the numbers are
	Mark   float64 // a number with a line across all bars, or 0
	Marked string  // what the line is
	Names  []string
	Series []Series
}

// A Series is a name and its numbers. Those that are not a number are left out.
type Series struct {
	Name   string
	Values []float64
	At     []float64 // of Lines: where the numbers are on the horizontal axis
}

const (
	plain = `stroke="#222"`
	faint = `stroke="#ddd"`
)

// SVG draws the bars, one program below the other.
func (b *Bars) SVG() ([]byte, error) {
	most := b.Mark
	for _, s := range b.Series {
		if len(s.Values) != len(b.Names) {
			return nil, fmt.Errorf("series %s has %d numbers for %d names", s.Name, len(s.Values), len(b.Names))
		}
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				most = max(most, v)
			}
		}
	}
	if most <= 0 || len(b.Names) == 0 {
		return nil, errors.New("there is nothing to draw")
	}
	const left, right, top, thick, gap = 290, 60, 78, 13, 9
	each := float64(len(b.Series)*thick + gap)
	c := &canvas{width: 900, height: int(top + each*float64(len(b.Names)) + 56)}
	bottom := top + each*float64(len(b.Names))
	at := func(v float64) float64 { return left + v/most*float64(c.width-left-right) }
	for _, v := range linearTicks(most) {
		c.line(at(v), top, at(v), bottom, faint)
		c.text(at(v), bottom+18, "middle", number(v), "")
	}
	c.text(at(most/2), bottom+40, "middle", b.Axis, "")
	c.legend(names(b.Series), left)
	var labels canvas // above all else
	for i, name := range b.Names {
		y := top + gap/2 + each*float64(i)
		c.text(left-10, y+each/2, "end", name, "")
		for k, s := range b.Series {
			v := s.Values[i]
			if math.IsNaN(v) {
				continue
			}
			y := y + float64(k*thick)
			fmt.Fprintf(&c.out, `<rect x="%d" y="%.1f" width="%.1f" height="%d" fill="%s"/>`+"\n", left, y, at(v)-left, thick-2, colors[k%len(colors)])
			labels.text(at(v)+5, y+thick-3, "start", number(v), ` font-size="11" paint-order="stroke" stroke="#fff" stroke-width="3"`)
		}
	}
	c.line(left, top, left, bottom, plain)
	if b.Mark > 0 {
		c.line(at(b.Mark), top-6, at(b.Mark), bottom, `stroke="#222" stroke-dasharray="5 4"`)
		c.text(at(b.Mark), top-10, "middle", b.Marked, "")
	}
	c.out.WriteString(labels.out.String())
	return c.svg(b.Title), nil
}

// Lines shows how numbers depend on others.
type Lines struct {
	Title      string
	X, Y       string // what the numbers are
	LogX, LogY bool
	Series     []Series
}

// SVG draws a line with marks for each series.
func (l *Lines) SVG() ([]byte, error) {
	low, high := math.Inf(1), math.Inf(-1)
	var places []float64
	for _, s := range l.Series {
		if len(s.Values) != len(s.At) {
			return nil, fmt.Errorf("series %s has %d numbers for %d places", s.Name, len(s.Values), len(s.At))
		}
		places = append(places, s.At...)
		for _, v := range s.Values {
			if !math.IsNaN(v) && (v > 0 || !l.LogY) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	if len(places) < 2 || math.IsInf(low, 0) {
		return nil, errors.New("there is nothing to draw")
	}
	const left, right, top, bottom = 80, 30, 78, 390
	c := &canvas{width: 760, height: 450}
	x := scale(l.LogX, places[0], places[len(places)-1], left+20, float64(c.width-right))
	from := 0.0
	if l.LogY {
		from = math.Pow(10, math.Floor(math.Log10(low)))
		high = math.Pow(10, math.Ceil(math.Log10(high)))
	}
	y := scale(l.LogY, from, high, bottom, top)
	for _, v := range ticks(l.LogY, from, high) {
		c.line(left, y(v), float64(c.width-right), y(v), faint)
		c.text(left-8, y(v)+4, "end", number(v), "")
	}
	if len(l.Series) > 1 && !slices.Equal(places, l.Series[0].At) { // each series has places of its own
		places = ticks(l.LogX, math.Pow(10, math.Ceil(math.Log10(places[0]))), places[len(places)-1])
	}
	for _, v := range places {
		c.line(x(v), bottom, x(v), bottom+5, plain)
		c.text(x(v), bottom+20, "middle", number(v), "")
	}
	c.line(left, bottom, float64(c.width-right), bottom, plain)
	c.line(left, top, left, bottom, plain)
	c.text(float64(left+c.width-right)/2, bottom+44, "middle", l.X, "")
	c.text(20, (top+bottom)/2, "middle", l.Y, fmt.Sprintf(` transform="rotate(-90 20 %d)"`, (top+bottom)/2))
	c.legend(names(l.Series), left)
	for k, s := range l.Series {
		c.series(k, s, l.LogY, x, y)
	}
	return c.svg(l.Title), nil
}

// series draws a line with a mark at each number.
func (c *canvas) series(k int, s Series, logarithmic bool, x, y func(float64) float64) {
	color, points := colors[k%len(colors)], ""
	for i, v := range s.Values {
		if !math.IsNaN(v) && (v > 0 || !logarithmic) {
			points += fmt.Sprintf("%.1f,%.1f ", x(s.At[i]), y(v))
		}
	}
	// Lines in the same place stay visible: the later ones are thinner and have gaps.
	dash := ""
	if k > 0 {
		dash = fmt.Sprintf(` stroke-dasharray="%d %d"`, 12-2*min(k, 5), 3+k)
	}
	fmt.Fprintf(&c.out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="%.1f"%s/>`+"\n", strings.TrimSpace(points), color, max(2, 3.5-0.3*float64(k)), dash)
	for point := range strings.FieldsSeq(points) {
		px, py, _ := strings.Cut(point, ",")
		fmt.Fprintf(&c.out, `<circle cx="%s" cy="%s" r="%.1f" fill="%s"/>`+"\n", px, py, max(3, 4.5-0.3*float64(k)), color)
	}
}

// legend names the series below the title.
func (c *canvas) legend(names []string, left float64) {
	x := left
	for k, name := range names {
		fmt.Fprintf(&c.out, `<rect x="%.1f" y="38" width="12" height="12" fill="%s"/>`+"\n", x, colors[k%len(colors)])
		c.text(x+17, 49, "start", name, "")
		x += 40 + 7.2*float64(len(name))
	}
}

func names(series []Series) (all []string) {
	for _, s := range series {
		all = append(all, s.Name)
	}
	return all
}

// scale returns where a number between low and high is drawn.
func scale(logarithmic bool, low, high, from, to float64) func(float64) float64 {
	f := func(v float64) float64 { return v }
	if logarithmic {
		f = math.Log
	}
	return func(v float64) float64 {
		if high == low {
			return (from + to) / 2
		}
		return from + (f(v)-f(low))/(f(high)-f(low))*(to-from)
	}
}

// ticks returns the numbers at an axis.
func ticks(logarithmic bool, low, high float64) (all []float64) {
	if !logarithmic {
		return linearTicks(high)
	}
	for v := low; v <= high*1.001; v *= 10 {
		all = append(all, v)
	}
	return all
}

// linearTicks returns five to ten round numbers from 0 to most.
func linearTicks(most float64) (all []float64) {
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, part := range []float64{0.1, 0.2, 0.5, 1} {
		if most/(step*part) <= 10 {
			step *= part
			break
		}
	}
	for i := 0.0; i*step <= most*1.001; i++ {
		all = append(all, i*step)
	}
	return all
}

// number formats a number with two digits after the point, and large ones with spaces.
func number(v float64) string {
	text := fmt.Sprintf("%.2f", v)
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	if v >= 1000 {
		text = fmt.Sprintf("%.0f", v)
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "\u202f" + text[i:]
		}
	}
	return text
}
