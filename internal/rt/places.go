package rt

import (
	"bytes"
	"encoding/binary"

	"github.com/heisen-go/heisen"
)

// place is a program counter and the calls that led to it: a node of the
// recorder's tree of call paths. What it means to Symbols is looked up when it is
// needed first.
type place struct {
	parent, pc uint32
	site       heisen.Site
	calls      uint32 // of a heisen.Cursor there
	inside     uint32 // of a heisen.Cursor in the call that is made there; 0 if not known
	resolved   bool   // site and calls are known
	cut        bool   // inside lacks the innermost calls
}

// addPlaces defines the places that come next in number.
func (s *Stream) addPlaces(nodes []uint64) error {
	for _, node := range nodes {
		p := place{parent: uint32(node >> 32), pc: uint32(node)}
		if int(p.parent) >= len(s.places) {
			return s.corrupt("place %d before its parent %d", len(s.places), p.parent)
		}
		if p.pc&taskPlace != 0 {
			if s.tasks[p.pc&^taskPlace] == 0 {
				return s.corrupt("place %d is unknown task %d", len(s.places), p.pc&^taskPlace)
			}
		}
		s.places = append(s.places, p)
	}
	return nil
}

// addTask defines a task.
func (s *Stream) addTask(id uint32, words []uint64) error {
	var text []byte
	for _, w := range words {
		text = binary.LittleEndian.AppendUint64(text, w)
	}
	text = bytes.TrimRight(text, "\x00")
	if len(text) == 0 || id >= taskPlace {
		return s.corrupt("task %d, %q", id, text)
	}
	name := string(text)
	site, known := s.names[name]
	if !known {
		site = s.syms.AddSite(heisen.SiteInfo{Task: name})
		s.names[name] = site
	}
	s.tasks[id] = site
	return nil
}

// place returns a place by number.
func (s *Stream) place(id uint64) (*place, error) {
	if id >= uint64(len(s.places)) {
		return nil, s.corrupt("unknown place %d", id)
	}
	p := &s.places[id]
	if !p.resolved {
		p.site, p.calls, p.resolved = s.siteOf(p), s.callsOf(p.parent), true
	}
	return p, nil
}

func (s *Stream) siteOf(p *place) heisen.Site {
	if p.pc&taskPlace != 0 {
		return s.tasks[p.pc&^taskPlace]
	}
	return s.site(p.pc)
}

// callsOf returns the call path inside of the call at a place.
func (s *Stream) callsOf(id uint32) uint32 {
	s.path = s.path[:0]
	for id != 0 && s.places[id].inside == 0 {
		s.path = append(s.path, id)
		id = s.places[id].parent
	}
	at, cut := heisen.Cursor{Calls: s.places[id].inside}, s.places[id].cut
	for i := len(s.path) - 1; i >= 0; i-- {
		p := &s.places[s.path[i]]
		if !cut {
			at, cut = s.call(at, s.siteOf(p))
		}
		p.inside, p.cut = at.Calls, cut
	}
	return at.Calls
}

// call returns the cursor in a call, or that of the caller where calls are cut:
// beyond the limit of paths, and so are those that they make.
func (s *Stream) call(c heisen.Cursor, site heisen.Site) (in heisen.Cursor, cut bool) {
	if in, ok := s.syms.FindCall(c, site); ok {
		return in, false
	}
	if calls, _, _ := s.syms.Sizes(); calls >= s.merge.limits.calls {
		s.merge.coarse = true
		return c, true
	}
	return s.syms.Call(c, site), false
}
