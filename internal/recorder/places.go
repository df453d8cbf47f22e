package recorder

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// place is a program counter and the calls that led to it: a node of the recorder's tree of call
// paths. Its meaning in Symbols is looked up when it is first needed. It may also be a part of a
// set of locks, or a place together with labels, with a set of locks, or both; see inject/locksets.go and inject/labels.go.
type place struct {
	parent, pc uint32
	kind       uint32 // 0, or the kind of a node that is no program counter
	site       heisen.Site
	calls      uint32 // of a heisen.Cursor there
	locks      uint32 // of a heisen.Cursor there, or of the set
	labels     heisen.Labels
	inside     uint32 // of a heisen.Cursor in the call made there; 0 if not known
	resolved   bool   // site and calls are known
	cut        bool   // inside lacks the innermost calls
}

// addPlaces adds the places with the next numbers.
func (s *Stream) addPlaces(nodes []uint64) error {
	s.places = slices.Grow(s.places, len(nodes))
	for _, node := range nodes {
		p := place{parent: uint32(node>>32) & nodeParent, pc: uint32(node), kind: uint32(node>>32) &^ nodeParent}
		if int(p.parent) >= len(s.places) {
			return s.corrupt("place %d before its parent %d", len(s.places), p.parent)
		}
		if !s.fits(&p) {
			return s.corrupt("place %d of kind %d, with parent %d and %d", len(s.places), p.kind>>24, p.parent, p.pc)
		}
		if p.kind == 0 && p.pc&wire.TaskPlace != 0 {
			if s.tasks[p.pc&^wire.TaskPlace] == 0 {
				return s.corrupt("place %d is unknown task %d", len(s.places), p.pc&^wire.TaskPlace)
			}
		}
		s.places = append(s.places, p)
	}
	return nil
}

// fits reports whether the nodes that p refers to have the kinds that its own kind requires.
func (s *Stream) fits(p *place) bool {
	parent := s.places[p.parent].kind
	switch p.kind {
	case 0:
		return parent == 0
	case wire.NodeLow:
		return parent == wire.NodeTaken || p.parent == 0
	case wire.NodeHigh:
		return parent == wire.NodeLow && p.pc&^wire.NodeShared < 1<<24
	case wire.NodeTaken:
		return parent == wire.NodeHigh
	case wire.NodeSite:
		return parent == wire.NodeSite || p.parent == 0
	case wire.NodeAccess:
		return (parent == 0 || parent == wire.NodeLabels) && p.parent != 0 && int(p.pc) < len(s.places) && s.places[p.pc].isLockset()
	case wire.NodeLabels:
		return parent == 0 && p.parent != 0 && s.labels[p.pc] != 0
	}
	return false
}

// isLockset reports whether p is a set of locks.
func (p *place) isLockset() bool { return p.kind == wire.NodeTaken || p.kind == wire.NodeSite }

// addTask adds a task.
func (s *Stream) addTask(id uint32, words []uint64) error {
	name := textOf(words)
	if name == "" || id >= wire.TaskPlace {
		return s.corrupt("task %d, %q", id, name)
	}
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
	switch {
	case p.resolved:
	case p.kind == 0:
		p.site, p.calls, p.resolved = s.siteOf(p), s.callsOf(p.parent), true
	case p.kind == wire.NodeAccess || p.kind == wire.NodeLabels:
		at, err := s.place(uint64(p.parent))
		if err != nil {
			return nil, err
		}
		p.site, p.calls, p.labels, p.resolved = at.site, at.calls, at.labels, true
		if p.kind == wire.NodeAccess {
			p.locks = s.locksOf(p.pc)
		} else {
			p.labels = s.labels[p.pc]
		}
	default:
		return nil, s.corrupt("place %d is of a set of locks", id)
	}
	return p, nil
}

// locksOf returns the path of locks, as in a heisen.Cursor, of a set of the recorder.
func (s *Stream) locksOf(set uint32) uint32 {
	var path []uint32
	for set != 0 && !s.places[set].resolved {
		path = append(path, set)
		_, set = s.lockOf(set)
	}
	locks := s.places[set].locks // 0 has none
	for _, set := range slices.Backward(path) {
		held, _ := s.lockOf(set)
		locks = s.syms.Acquire(heisen.Cursor{Locks: locks}, held).Locks
		s.places[set].locks, s.places[set].resolved = locks, true
	}
	return locks
}

// lockOf returns the lock that was added last to a set of locks, and the set without it.
func (s *Stream) lockOf(set uint32) (held heisen.HeldLock, below uint32) {
	at := &s.places[set]
	if at.kind == wire.NodeSite {
		return heisen.HeldLock{Lock: lostLockObject, Shared: at.pc&wire.NodeShared != 0, Site: s.site(at.pc &^ wire.NodeShared)}, at.parent
	}
	high := &s.places[at.parent]
	low := &s.places[high.parent]
	return heisen.HeldLock{
		Lock:   heisen.Object(high.pc&^wire.NodeShared)<<32 | heisen.Object(low.pc),
		Shared: high.pc&wire.NodeShared != 0,
		Site:   s.site(at.pc),
	}, low.parent
}

func (s *Stream) siteOf(p *place) heisen.Site {
	if p.pc&wire.TaskPlace != 0 {
		return s.tasks[p.pc&^wire.TaskPlace]
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
	in = s.syms.Call(c, site)
	return in, in == c
}

// textOf returns a text that was sent as words, with zero bytes at the end.
func textOf(words []uint64) string {
	var text []byte
	for _, w := range words {
		text = binary.LittleEndian.AppendUint64(text, w)
	}
	return string(bytes.TrimRight(text, "\x00"))
}
