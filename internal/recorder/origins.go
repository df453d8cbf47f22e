package recorder

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// addOrigins adds the origins of goroutines: which goroutine has started them, and where. A program
// that sends no events sends the origins of the goroutines in its findings, and of their ancestors,
// which may come later; see inject/origins.go. It no longer knows those of goroutines that ended
// long ago.
func (s *Stream) addOrigins(words []uint64) error {
	if len(words)%wire.OriginWords != 0 {
		return s.corrupt("descents in %d words", len(words))
	}
	for d := range slices.Chunk(words, wire.OriginWords) {
		id, parent := heisen.Thread(d[0]>>32), heisen.Thread(d[0])
		if id == wire.UnknownG {
			return s.corrupt("the descent of goroutine %d", id)
		}
		if s.syms.Thread(id).Name != "" {
			continue // it is sent again
		}
		info := heisen.ThreadInfo{Name: threadName(id, d[1])}
		switch at := d[2]; {
		case at&^nodeParent == wire.OriginForked:
			if parent >= id { // numbers are in order of creation
				return s.corrupt("goroutine %d is started by goroutine %d", id, parent)
			}
			p, err := s.place(at & nodeParent)
			if err != nil {
				return err
			}
			info.Forked, info.Parent, info.Site = true, parent, p.site
			info.Context = s.syms.Context(heisen.Cursor{Calls: p.calls, Locks: p.locks})
		case at == wire.OriginForgotten && parent == 0:
			info.Name = forgotten
		case at != 0 || parent != 0:
			return s.corrupt("goroutine %d is started by no goroutine, goroutine %d at %#x", id, parent, at)
		}
		s.syms.SetThread(id, info)
	}
	return nil
}

// forgotten is the name of a goroutine that the program no longer knows.
const forgotten = "a goroutine that ended long ago"
