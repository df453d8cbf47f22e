package recorder

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// Call and Return events. The recorder does not record calls. With each record it says where the goroutine is, and, if it
// is asked for calls, how many of these are the same as at the goroutine's record before. So a function in which nothing happens
// has no events, and Call comes just before the first event inside.

// call is a call that a goroutine is in.
type call struct {
	site   heisen.Site
	inside uint32      // of a heisen.Cursor in the call
	first  heisen.Site // of the first event, or call, in the function
	task   bool
}

// inside is an event of a function whose name is not known yet.
type inside struct {
	event int // in the batch
	site  heisen.Site
}

// functionBase is below the objects that stand for functions. No address of a Go program has their values.
const functionBase heisen.Object = 1 << 54

// follow emits the calls that lead to the cursor of g, and the returns from others. At is the site of the event that
// comes next.
func (m *merger) follow(g *goroutine, at heisen.Site) {
	syms := m.s.syms
	path := syms.Calls(syms.Context(heisen.Cursor{Calls: g.cursor.Calls})) // innermost first
	kept := 0
	for kept < len(g.calls) && kept < len(path) && g.calls[kept].site == path[len(path)-1-kept] {
		kept++
	}
	if g.entered {
		kept = min(kept, g.kept)
		g.entered = false
	}
	there := g.cursor.Calls
	for last := len(g.calls) - 1; last >= kept; last-- {
		m.emitCall(g, heisen.Return, g.calls[last].inside, &g.calls[last])
		g.calls = g.calls[:last]
	}
	outside := uint32(0)
	if kept > 0 {
		outside = g.calls[kept-1].inside
	}
	for i := len(path) - 1 - kept; i >= 0; i-- {
		c := call{site: path[i], inside: syms.Call(heisen.Cursor{Calls: outside}, path[i]).Calls, first: at}
		c.task = syms.Site(path[i]).Task != ""
		for _, next := range slices.Backward(path[:i]) {
			if syms.Site(next).Task == "" {
				c.first = next
				break
			}
		}
		m.emitCall(g, heisen.Call, outside, &c)
		g.calls, outside = append(g.calls, c), c.inside
	}
	g.cursor.Calls, g.stale = there, true
}

// emitCall emits the event of a call, with the call path before it.
func (m *merger) emitCall(g *goroutine, op heisen.Op, before uint32, c *call) {
	if c.task {
		return
	}
	g.cursor.Calls, g.stale = before, true
	r := m.emit(g)
	r.Op, r.Site = op, c.site
	m.s.inside = append(m.s.inside, inside{len(m.s.out) - 1, c.first})
}

// nameFunctions gives the Call and Return events of a batch their objects, which have the names of functions.
func (s *Stream) nameFunctions() {
	for _, in := range s.inside {
		name := "?"
		if frames := s.syms.Site(in.site).Frames; len(frames) > 0 {
			name = frames[len(frames)-1].Func // the others are inlined
		}
		object, known := s.functions[name]
		if !known {
			if s.functions == nil {
				s.functions = map[string]heisen.Object{}
			}
			object = functionBase + heisen.Object(8*len(s.functions))
			s.functions[name] = object
			s.syms.SetName(object, name)
		}
		s.out[in.event].Object = object
	}
	s.inside = s.inside[:0]
}
