package infer_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/section"
)

// TestRandom infers sections of random functions over one shared variable, runs the functions in an
// interpreter, and follows the sections as a detector does, by the lines of accesses. Whenever a
// section ends, its accesses must belong together. Two accesses that come one after the other must
// be a section of pattern consecutive.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	g := &generator{rng: rng}
	g.emit("package m")
	g.emit("type T struct{ N int }")
	g.emit("func id(v int) int { return v }")
	g.emit("func c() bool")
	var functions [][]*node
	for i := range 400 {
		g.emit(fmt.Sprintf("func F%d(s *T) int {", i))
		g.emit("a, b, d := 0, 0, 0")
		functions = append(functions, g.block(3, 0))
		g.emit("return a + b + d")
		g.emit("}")
	}
	dir := write(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n",
		"m.go":   g.text.String(),
		"m.s":    "", // c has no body
	})
	for _, pattern := range infer.PatternNames() {
		found, err := infer.Infer(context.Background(), infer.Source{Dir: dir}, infer.WithPatterns(pattern))
		if err != nil {
			t.Fatal(err)
		}
		sections := map[place]*section.Section{}
		for i := range found.Sections {
			s := &found.Sections[i]
			sections[place{s.Entry.Line, s.Entry.Mode}] = s
		}
		ended := 0
		for i, f := range functions {
			for range 15 {
				m := &machine{rng: rng, values: map[string]events{}}
				m.run(f)
				n, problem := m.check(pattern, sections)
				if problem != "" {
					t.Fatalf("%s: F%d: %s\n%s", pattern, i, problem, g.text.String()[strings.Index(g.text.String(), fmt.Sprintf("func F%d(", i)):][:1500])
				}
				ended += n
			}
		}
		if ended < 100 {
			t.Errorf("%s: sections came only %d to an end", pattern, ended)
		}
		t.Logf("%s: %d sections, which came to an end %d times", pattern, len(found.Sections), ended)
	}
}

// TestRandomCalls is TestRandom for functions that access the variable in accessors too, which all
// functions share and which other packages may call.
func TestRandomCalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	g := &generator{rng: rng}
	g.emit("package m")
	g.emit("type T struct{ N int }")
	g.emit("func id(v int) int { return v }")
	g.emit("func c() bool")
	for i := range accessors {
		g.gets[i] = g.emit(fmt.Sprintf("func (s *T) Get%d() int { return s.N }", i))
		g.emit(fmt.Sprintf("func (s *T) Fetch%d() int { return id(s.Get%d()) }", i, i))
		g.puts[i] = g.emit(fmt.Sprintf("func (s *T) Put%d(v int) { s.N = v }", i))
		g.emit(fmt.Sprintf("func (s *T) Set%d(v int) { s.Put%d(id(v)) }", i, i))
		g.asks[i] = g.emit(fmt.Sprintf("func (s *T) Ask%d() bool { if s.N > 3 { return true }; return false }", i))
	}
	type function struct {
		body        []*node
		first, last int
	}
	var functions []function
	for i := range 120 {
		f := function{first: g.emit(fmt.Sprintf("func F%d(s *T) int {", i))}
		g.emit("a, b, d := 0, 0, 0")
		f.body = g.block(3, 0)
		g.emit("return a + b + d")
		f.last = g.emit("}")
		functions = append(functions, f)
	}
	dir := write(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n",
		"m.go":   g.text.String(),
		"m.s":    "", // c has no body
	})
	for _, pattern := range infer.PatternNames()[:2] {
		found, err := infer.Infer(context.Background(), infer.Source{Dir: dir}, infer.WithPatterns(pattern))
		if err != nil || len(found.Notes) > 0 {
			t.Fatal(err, found.Notes)
		}
		sections := map[place]*section.Section{}
		for i := range found.Sections {
			s := &found.Sections[i]
			sections[place{s.Entry.Line, s.Entry.Mode}] = s
		}
		ended := 0
		for i, f := range functions {
			for range 40 {
				m := &machine{rng: rng, values: map[string]events{}, first: f.first, last: f.last}
				m.run(f.body)
				n, problem := m.check(pattern, sections)
				if problem != "" {
					lines := strings.Split(g.text.String(), "\n")
					t.Fatalf("%s: F%d: %s\n%s", pattern, i, problem, strings.Join(lines[f.first-1:f.last], "\n"))
				}
				ended += n
			}
		}
		if m := len(sections); ended < 100 || m < accessors {
			t.Errorf("%s: %d sections came only %d to an end", pattern, m, ended)
		}
		t.Logf("%s: %d sections, which came to an end %d times", pattern, len(found.Sections), ended)
	}
}

// accessors is the number of accessors of each kind in TestRandomCalls.
const accessors = 3

// node is a statement on a line of its own.
type node struct {
	kind string // read, write, add, copy, zero, if, ask, for, break, continue, return
	line int    // of its access
	x, y string
	a, b []*node // bodies
}

type generator struct {
	rng  *rand.Rand
	text strings.Builder
	line int

	gets, puts, asks [accessors]int // lines of accessors; 0 if there are none
}

func (g *generator) emit(text string) int {
	g.line++
	g.text.WriteString(text + "\n")
	return g.line
}

func (g *generator) name() string { return []string{"a", "b", "d"}[g.rng.IntN(3)] }

func (g *generator) block(depth, loops int) (out []*node) {
	for range 1 + g.rng.IntN(4) {
		out = append(out, g.statement(depth, loops))
	}
	return out
}

func (g *generator) statement(depth, loops int) *node {
	n := &node{x: g.name(), y: g.name()}
	kinds := []string{"read", "read", "write", "write", "add", "copy", "zero", "return"}
	if depth > 0 {
		kinds = append(kinds, "if", "if", "if", "for", "for")
	}
	if loops > 0 {
		kinds = append(kinds, "break", "continue")
	}
	calls := g.gets[0] > 0
	if calls && depth > 0 {
		kinds = append(kinds, "ask", "ask")
	}
	n.kind = kinds[g.rng.IntN(len(kinds))]
	called := g.rng.IntN(accessors)
	condition := "c()"
	if g.rng.IntN(2) == 0 && n.kind == "if" {
		condition = n.x + " > 3"
	} else if n.kind == "if" || n.kind == "for" {
		n.x = ""
	}
	switch {
	case calls && n.kind == "read" && g.rng.IntN(4) > 0:
		g.emit(fmt.Sprintf("%s = s.%s%d()", n.x, []string{"Get", "Fetch"}[g.rng.IntN(2)], called))
		n.line = g.gets[called]
		return n
	case calls && n.kind == "write" && g.rng.IntN(4) > 0:
		g.emit(fmt.Sprintf("s.%s%d(%s)", []string{"Put", "Set"}[g.rng.IntN(2)], called, n.x))
		n.line = g.puts[called]
		return n
	}
	switch n.kind {
	case "ask":
		g.emit(fmt.Sprintf("if s.Ask%d() {", called))
		n.line = g.asks[called]
		n.a = g.block(depth-1, loops)
		g.emit("}")
	case "read":
		n.line = g.emit(n.x + " = id(s.N)")
	case "write":
		n.line = g.emit("s.N = " + n.x)
	case "add":
		n.line = g.emit(n.x + " += " + n.y)
	case "copy":
		n.line = g.emit(n.x + " = id(" + n.y + ")")
	case "zero":
		n.line = g.emit(n.x + " = 0")
	case "if":
		n.line = g.emit("if " + condition + " {")
		n.a = g.block(depth-1, loops)
		if g.rng.IntN(2) == 0 {
			g.emit("} else {")
			n.b = g.block(depth-1, loops)
		}
		g.emit("}")
	case "for":
		n.line = g.emit("for c() {")
		if g.rng.IntN(2) == 0 {
			reset := &node{kind: "zero", x: g.name()}
			reset.line = g.emit(reset.x + " = 0")
			n.a = append(n.a, reset)
		}
		n.a = append(n.a, g.block(depth-1, loops+1)...)
		g.emit("}")
	case "break", "continue":
		n.line = g.emit("if c() { " + n.kind + " }")
	case "return":
		n.line = g.emit("if c() { return 1 }")
	}
	return n
}

// events is the set of accesses, by number, that a value was computed from.
type events map[int]bool

type place struct {
	line int
	mode section.Modes
}

type event struct {
	place
	value  events // of a write
	tested events // reads whose values have been tested before
}

type machine struct {
	rng    *rand.Rand
	values map[string]events
	tested events
	trace  []event

	first, last int // lines of the function; 0 if no section names functions
}

// inside reports whether an end is in calls of the function.
func (m *machine) inside(end section.End) bool {
	return len(end.In) == 0 || slices.ContainsFunc(end.In, func(l section.Lines) bool { return l.First == m.first && l.Last == m.last })
}

func union(a, b events) events {
	out := maps.Clone(a)
	if out == nil {
		out = events{}
	}
	maps.Copy(out, b)
	return out
}

// run runs statements and returns how they end: "", "break", "continue", "return".
func (m *machine) run(list []*node) string {
	for _, n := range list {
		if len(m.trace) > 60 {
			return "return"
		}
		switch n.kind {
		case "read":
			m.values[n.x] = events{len(m.trace): true}
			m.trace = append(m.trace, event{place{n.line, section.Reads}, nil, m.tested})
		case "write":
			m.trace = append(m.trace, event{place{n.line, section.Writes}, m.values[n.x], m.tested})
		case "add":
			m.values[n.x] = union(m.values[n.x], m.values[n.y])
		case "copy":
			m.values[n.x] = m.values[n.y]
		case "zero":
			m.values[n.x] = nil
		case "ask":
			m.trace = append(m.trace, event{place{n.line, section.Reads}, nil, m.tested})
			m.tested = union(m.tested, events{len(m.trace) - 1: true})
			if m.rng.IntN(2) == 0 {
				if how := m.run(n.a); how != "" {
					return how
				}
			}
		case "if":
			body := n.b
			if m.rng.IntN(2) == 0 {
				body = n.a
			}
			if n.x != "" {
				m.tested = union(m.tested, m.values[n.x])
			}
			if how := m.run(body); how != "" {
				return how
			}
		case "for":
			for m.rng.IntN(3) > 0 {
				how := m.run(n.a)
				if how == "return" {
					return how
				}
				if how == "break" {
					break
				}
			}
		default:
			if m.rng.IntN(4) == 0 {
				return n.kind
			}
		}
	}
	return ""
}

// check follows the sections through the trace. It returns how many ends there
// were and what is wrong.
func (m *machine) check(pattern string, sections map[place]*section.Section) (ends int, problem string) {
	active := map[place]int{} // the access at the entry, of each section that is not over
	for i, e := range m.trace {
		for entry, begun := range active {
			s := sections[entry]
			at := slices.IndexFunc(s.Ends, func(end section.End) bool {
				return end.At.Line == e.line && end.At.Mode == e.mode
			})
			if at < 0 {
				continue
			}
			delete(active, entry)
			if !m.inside(s.Ends[at]) || s.Ends[at].Allow == section.Reads|section.Writes {
				continue
			}
			ends++
			if why := m.wrong(pattern, begun, i); why != "" {
				return ends, fmt.Sprintf("section at line %d ends at line %d: %s", entry.line, e.line, why)
			}
		}
		if sections[e.place] != nil {
			active[e.place] = i
		}
		if pattern == "consecutive" && i > 0 {
			s := sections[m.trace[i-1].place]
			if s == nil || !slices.ContainsFunc(s.Ends, func(end section.End) bool {
				return end.At.Line == e.line && end.At.Mode == e.mode
			}) {
				return ends, fmt.Sprintf("no section of lines %d and %d", m.trace[i-1].line, e.line)
			}
		}
	}
	return ends, ""
}

// wrong returns why accesses i and j do not belong together, if they do not.
func (m *machine) wrong(pattern string, i, j int) string {
	switch pattern {
	case "consecutive":
		if j != i+1 {
			return "there is an access in between"
		}
	case "load-and-store":
		if !m.trace[j].value[i] && !m.trace[j].tested[i] {
			return "what is stored was not made of what was loaded"
		}
	case "test-and-use":
		if !m.trace[j].tested[i] {
			return "there was no test"
		}
	}
	if pattern != "consecutive" {
		for k := i + 1; k < j; k++ {
			if m.trace[k].mode == section.Writes {
				return "the variable has been written in between"
			}
		}
	}
	return ""
}
