package htmlreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Measures of a drawing, in units of the picture: pixels if it is not scaled.
const (
	headHeight  = 40
	namesHeight = 34 // of the head
	startHeight = 30
	rowGap      = 20
	lineHeight  = 13
	textSize    = 6.2 // average width of a character
	labelSize   = 5.4 // of a label
	textLeft    = 9   // between a lane's line and its texts
	barWidth    = 5
	barGap      = 7
	mostBars    = 4  // beside each other
	numbersLeft = 46 // of lanes, for the numbers of events
	gapHeight   = 24
)

// drawing is a diagram with all positions.
type drawing struct {
	Width, Height, Bottom int
	Lanes                 []laneShape
	Starts                []edgeShape
	Numbers               []textShape // of events in a trace
	Gaps                  []gapShape
	Bars                  []barShape
	Edges                 []edgeShape
	Events                []eventShape
	Arrows                []string // classes of edges that have a head
	Fits                  bool     // a narrow screen
}

type laneShape struct {
	X          int
	Name, Note string
	Title      string // all of the note, if it may be cut
}

type gapShape struct {
	X, Y, End int
	Text      string
}

type eventShape struct {
	X, Y, Radius int
	Class, Title string
	Texts        []textShape
}

type textShape struct {
	X, Y  int
	Class string
	Text  string
}

type edgeShape struct {
	Class, Path, Label string
	X, Y               int // of the label
}

type barShape struct {
	X, Y, Width, Height int
	Title               string
}

// draw places everything in a diagram.
func draw(d *diagram.Diagram) drawing {
	n := len(d.Lanes)
	if n == 0 {
		return drawing{}
	}
	width, gutter := 132, 0 // of a lane, and beside the lanes
	if n <= 2 {
		width = 180
	} else if n == 3 {
		width = 120
	}
	inTrace := slices.ContainsFunc(d.Events, func(e diagram.Event) bool { return e.Number != 0 })
	if inTrace {
		width, gutter = 150, numbersLeft
		if n <= 2 {
			width = 190
		}
	}
	columns, most := columnsOf(d)
	left := 6 + most*barGap
	p := placer{d: d, width: width, gutter: gutter, left: left, columns: columns, chars: int(float64(width-left-textLeft+2) / textSize)}
	p.rows()
	out := drawing{Width: gutter + n*width, Height: p.bottom + 4, Bottom: p.bottom}
	for i, l := range d.Lanes {
		lane := laneShape{X: p.x(i), Name: p.short(l.Name), Note: p.short(l.Test)}
		if len(l.Labels) > 0 {
			note := strings.TrimSpace(l.Test + " " + report.FormatLabels(l.Labels))
			lane.Note, lane.Title = p.short(note), printable.Text(l.Name+" "+note)
		}
		out.Lanes = append(out.Lanes, lane)
	}
	out.Starts, out.Bars, out.Edges, out.Events = p.starts(), p.bars(), p.edges(), p.events()
	if inTrace {
		out.Numbers, out.Gaps = p.numbers(), p.gaps(out.Width)
	}
	out.Fits = n <= 3
	out.Arrows = []string{"start", string(diagram.Order), string(diagram.WaitsFor)}
	return out
}

// columnsOf places bars of a lane that are open at the same time beside each other. It returns the place of
// each bar, and how many there are beside each other, at least 1.
func columnsOf(d *diagram.Diagram) (columns []int, most int) {
	columns, most = make([]int, len(d.Bars)), 1
	order := make([]int, len(d.Bars))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(d.Bars[i].From, d.Bars[j].From) })
	ends := map[[2]int]int{} // row at which the latest bar ends, plus 1, by lane and place
	for _, i := range order {
		b := &d.Bars[i]
		k := 0
		for k < mostBars-1 && ends[[2]int{b.Lane, k}] > b.From {
			k++
		}
		ends[[2]int{b.Lane, k}] = b.To + 1
		columns[i], most = k, max(most, k+1)
	}
	return columns, most
}

type placer struct {
	d                   *diagram.Diagram
	width, left, bottom int
	gutter              int   // left of the lanes
	columns             []int // of bars
	chars               int   // of a text in a lane
	y                   []int // of rows
}

func (p *placer) x(lane int) int { return p.gutter + lane*p.width + p.left }

// rows computes the positions of the rows.
func (p *placer) rows() {
	y := headHeight + len(p.d.Starts)*startHeight + 12
	lines := make([]int, p.d.Rows) // of text
	for i := range p.d.Events {
		e := &p.d.Events[i]
		lines[e.Row] = max(lines[e.Row], len(p.texts(e)))
	}
	for row, n := range lines {
		if p.gap(row) != nil {
			y += gapHeight
		}
		p.y = append(p.y, y)
		y += n*lineHeight + rowGap
	}
	p.bottom = y
}

// gap returns the gap before a row, or nil.
func (p *placer) gap(row int) *diagram.Gap {
	if i := slices.IndexFunc(p.d.Gaps, func(g diagram.Gap) bool { return g.Row == row }); i >= 0 {
		return &p.d.Gaps[i]
	}
	return nil
}

// numbers returns the numbers of events.
func (p *placer) numbers() (out []textShape) {
	for i := range p.d.Events {
		e := &p.d.Events[i]
		out = append(out, textShape{X: numbersLeft - 8, Y: p.y[e.Row] + 4, Text: fmt.Sprint(e.Number)})
	}
	return out
}

// gaps returns the lines where events are left out.
func (p *placer) gaps(width int) (out []gapShape) {
	for _, g := range p.d.Gaps {
		out = append(out, gapShape{X: numbersLeft, Y: p.y[g.Row] - gapHeight + 2, End: width, Text: g.Text})
	}
	return out
}

// texts returns what stands at an event: what happens, on one line if it fits, where, and the locks
// held.
func (p *placer) texts(e *diagram.Event) (out []textShape) {
	verb := e.Verb
	if e.Times > 1 {
		verb = fmt.Sprintf("%d× %s", e.Times, verb)
	}
	one := strings.TrimSpace(verb + " " + e.What)
	switch {
	case e.What == "":
		out = append(out, textShape{Class: "what", Text: verb})
	case e.Access < 0 && utf8.RuneCountInString(one) <= p.chars:
		out = append(out, textShape{Class: "what", Text: one})
	default:
		out = append(out, textShape{Class: "what", Text: verb}, textShape{Class: "what", Text: e.What})
	}
	if e.Site != "" || e.Number == 0 {
		out = append(out, textShape{Class: "place", Text: wording.Place(e.Site)})
	}
	if e.Access >= 0 {
		if held := held(p.d, e); held != "" {
			out = append(out, textShape{Class: "held", Text: held})
		}
	}
	return out
}

// short returns a text that fits a lane.
func (p *placer) short(s string) string { return shorten(printable.Text(s), p.chars) }

// shortPlace returns a place that has at most n characters, or a few more: the name of the file is cut, and not the line.
func shortPlace(s string, n int) string {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || utf8.RuneCountInString(s) <= n {
		return shorten(s, n)
	}
	return shorten(s[:i], n-utf8.RuneCountInString(s[i:])) + s[i:]
}

func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:max(n-1, 1)]) + "…"
}

func (p *placer) starts() (out []edgeShape) {
	for i, s := range p.d.Starts {
		y := headHeight + i*startHeight + 18
		from, to := p.x(s.Parent), p.x(s.Child)
		label := "starts"
		if s.Site != "" {
			label += " at " + wording.Place(s.Site)
		}
		out = append(out, edgeShape{
			Class: "start", Path: fmt.Sprintf("M%d %dH%d", from, y, to-toward(from, to)*3),
			Label: shortPlace(printable.Text(label), int(float64(max(to-from, from-to)-textLeft)/labelSize)), X: min(from, to) + textLeft, Y: y - 6,
		})
	}
	return out
}

// toward returns the direction from one position to another.
func toward(from, to int) int {
	if to < from {
		return -1
	}
	return 1
}

func (p *placer) bars() (out []barShape) {
	for i, b := range p.d.Bars {
		top, bottom := p.y[b.From], p.y[b.To]+14
		if b.Before {
			top -= 14
		}
		if !b.After {
			bottom -= 14
		}
		out = append(out, barShape{
			X: p.x(b.Lane) - 3 - barGap*(p.columns[i]+1), Y: top, Width: barWidth, Height: max(bottom-top, 6),
			Title: printable.Text(p.d.Lanes[b.Lane].Name + " holds " + b.Lock),
		})
	}
	return out
}

func (p *placer) edges() (out []edgeShape) {
	for _, e := range p.d.Edges {
		a, b := &p.d.Events[e.From], &p.d.Events[e.To]
		x1, y1, x2, y2 := p.x(a.Lane), p.y[a.Row], p.x(b.Lane), p.y[b.Row]
		way := toward(x1, x2)
		s := edgeShape{Class: string(e.Kind), Label: e.Label, X: (x1 + x2) / 2, Y: (y1+y2)/2 - 4}
		switch {
		case e.Kind == diagram.WaitsFor:
			s.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1+way*7, y1, x1+way*p.width/3, y1, x2-way*p.width/3, y2, x2-way*8, y2)
			s.Label = ""
		default:
			s.Path = fmt.Sprintf("M%d %dL%d %d", x1+way*7, y1, x2-way*8, y2)
			p.label(&s, a, b)
		}
		out = append(out, s)
	}
	return out
}

// label places the label of an edge where no texts of events are: above those of a row between the two events,
// or of the lower one.
func (p *placer) label(s *edgeShape, a, b *diagram.Event) {
	if a.Row > b.Row {
		a, b = b, a
	}
	x1, y1, x2, y2 := p.x(a.Lane), p.y[a.Row], p.x(b.Lane), p.y[b.Row]
	switch r := (a.Row + b.Row) / 2; {
	case a.Row == b.Row:
	case r == a.Row:
		s.X, s.Y = x2-toward(x1, x2)*(p.left+36), y2-1
	default:
		s.X, s.Y = x1+(x2-x1)*(p.y[r]-y1)/(y2-y1), p.y[r]+3
	}
}

func (p *placer) events() (out []eventShape) {
	for i := range p.d.Events {
		e := &p.d.Events[i]
		s := eventShape{X: p.x(e.Lane), Y: p.y[e.Row], Class: class(e), Radius: 4}
		if e.Access >= 0 {
			s.Radius = 6
		}
		s.Title = printable.Text(fmt.Sprintf("%s %s %s at %s", p.d.Lanes[e.Lane].Name, e.Verb, e.What, e.Site))
		if e.Number != 0 {
			s.Title = printable.Text(fmt.Sprintf("Event %d: ", e.Number)) + s.Title
		}
		s.Texts = p.texts(e)
		for k := range s.Texts {
			t := &s.Texts[k]
			t.X, t.Y = s.X+textLeft, s.Y+15+lineHeight*k
			if t.Class == "place" {
				t.Text = shortPlace(printable.Text(t.Text), p.chars)
			} else {
				t.Text = p.short(t.Text)
			}
		}
		out = append(out, s)
	}
	return out
}

// class says how an event looks.
func class(e *diagram.Event) string {
	switch {
	case e.Waits:
		return "waiting"
	case e.Access >= 0:
		return "access"
	case strings.HasPrefix(e.Op, "acquire"), strings.HasPrefix(e.Op, "release"):
		return "lock"
	}
	return "step"
}

// held says which locks are held at an access, if that is known.
func held(d *diagram.Diagram, e *diagram.Event) string {
	names := d.Held[e.Access]
	switch {
	case e.NoLocks:
		return "holds no lock"
	case len(names) == 0:
		return ""
	}
	return "holds " + strings.Join(names, ", ")
}
