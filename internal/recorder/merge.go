package recorder

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// merger puts the goroutines' words into one order of events.
//
// A goroutine's words are consumed in order. An access is emitted as soon as everything before it
// in its goroutine was; a synchronization event when its stamp is the next; the first event of a
// goroutine when its Fork was emitted. So every event is emitted after all that happens before it.
type merger struct {
	s    *Stream
	gs   map[uint64]*goroutine // by number, until their last event
	next uint64                // the next stamp
	// waiting has, at t modulo its length, the goroutine whose next event has stamp t; far has
	// those with stamps further ahead.
	waiting [maxNear]*goroutine
	far     map[uint64]*goroutine
	ready   []*goroutine // goroutines whose words wait for nothing
	held    uint64       // number of words that wait
	free    []*goroutine // states of goroutines that have ended
}

// goroutine is the state of a goroutine's part of the stream.
type goroutine struct {
	id       heisen.Thread
	next     uint64   // words received without a gap
	queue    []uint64 // from head on: those of them that could not be consumed
	head     int
	gaps     []run  // what came after a gap, by position
	forked   bool   // its Fork was emitted
	begun    bool   // its Begin was emitted
	ready    bool   // it is in merger.ready
	inHidden bool   // its events are of hidden code
	numbered bool   // its events have operation numbers
	opNumber uint64 // the current operation number
	calls    []call // for which Call events were emitted, or that are tasks, outermost first
	entered  bool   // the calls from kept on are new
	kept     int
	ended    bool // its End was emitted; the state is free

	cursor  heisen.Cursor
	context heisen.Context // of cursor, unless stale
	stale   bool
	holds   []heldLock // in order of acquisition
}

// run is a range of a goroutine's words.
type run struct {
	at    uint64
	words []uint64
}

// maxNear is the number of stamps ahead for which waiting goroutines are in waiting.
const maxNear = 1 << 12

// maxGoroutines is the number of goroutine numbers.
const maxGoroutines = 1 << 32

func (m *merger) init(s *Stream) {
	m.s = s
	m.gs = map[uint64]*goroutine{}
	m.far = map[uint64]*goroutine{}
}

// goroutine returns the state of a goroutine by number.
func (m *merger) goroutine(id uint64) (*goroutine, error) {
	if id >= maxGoroutines {
		return nil, m.s.corrupt("goroutine %d", id)
	}
	g := m.gs[id]
	if g == nil {
		g = m.newGoroutine()
		g.id = heisen.Thread(id)
		m.gs[id] = g
	}
	return g, nil
}

// newGoroutine returns an empty state, a used one if possible: programs start millions of
// goroutines.
func (m *merger) newGoroutine() *goroutine {
	last := len(m.free) - 1
	if last < 0 {
		return new(goroutine)
	}
	g := m.free[last]
	m.free = m.free[:last]
	*g = goroutine{queue: g.queue[:0], holds: g.holds[:0], calls: g.calls[:0]}
	return g
}

const (
	maxRecycledQueue = 1 << 10 // words of the queue that a free state keeps
	maxFree          = 1 << 9  // free states
)

// recycle frees the state of a goroutine that has ended.
func (m *merger) recycle(g *goroutine) {
	delete(m.gs, uint64(g.id))
	m.s.syms.EndThread(g.id)
	g.ended = true
	if cap(g.queue) <= maxRecycledQueue && len(m.free) < maxFree {
		m.free = append(m.free, g)
	}
}

// pending returns the number of received words that could not be emitted.
func (m *merger) pending() uint64 { return m.held }

// lostEvents returns the number of events in these words.
func (m *merger) lostEvents() (events uint64) {
	count := func(words []uint64) {
		for len(words) > 0 {
			op := words[0] >> wire.OpShift
			if op != wire.OpShade && op != wire.OpPoint && op != wire.OpEntered {
				events++
			}
			words = words[recordWords[op]:]
		}
	}
	for _, g := range m.gs {
		count(g.queue[g.head:])
		for _, r := range g.gaps {
			count(r.words)
		}
	}
	return events
}

// deliver takes words of g up to a switch to another goroutine, or fewer if they make enough
// events. It returns the number of words taken. at is the number of words of g before.
func (m *merger) deliver(g *goroutine, at uint64, words []uint64) (n int, err error) {
	switch {
	case at == g.next && g.head == len(g.queue):
		// Usually nothing waits, and the words need not be examined twice.
		var waits bool
		if n, waits, err = m.consume(g, words); err != nil {
			return n, err
		}
		g.next += uint64(n)
		if waits {
			rest, err := m.run(words[n:])
			if err != nil {
				return n, err
			}
			m.enqueue(g, rest)
			n += len(rest)
		} else if n < len(words) && words[n]>>wire.OpShift != wire.OpSwitch {
			return n, nil
		}
	case at < g.next:
		return 0, m.s.corrupt("goroutine %d has %d words, and word %d comes again", g.id, g.next, at)
	default:
		part, err := m.run(words)
		if err != nil {
			return 0, err
		}
		n = len(part)
		if at > g.next {
			g.gaps = append(g.gaps, run{at, append([]uint64(nil), part...)})
			m.held += uint64(n)
			return n, nil
		}
		m.enqueue(g, part)
	}
	for i := 0; i < len(g.gaps); i++ {
		if r := g.gaps[i]; r.at == g.next {
			g.gaps = append(g.gaps[:i], g.gaps[i+1:]...)
			m.held -= uint64(len(r.words))
			if g.head == len(g.queue) {
				m.resume(g)
			}
			m.enqueue(g, r.words)
			i = -1
		}
	}
	return n, m.release()
}

// run returns the words before a switch.
func (m *merger) run(words []uint64) ([]uint64, error) {
	n := 0
	for n < len(words) {
		op := words[n] >> wire.OpShift
		if op == wire.OpSwitch {
			break
		}
		size := int(recordWords[op])
		if size == 0 || n+size > len(words) {
			return nil, m.s.corrupt("record %#x", words[n])
		}
		n += size
	}
	return words[:n], nil
}

// resume makes release consume words of g.
func (m *merger) resume(g *goroutine) {
	if !g.ready {
		g.ready = true
		m.ready = append(m.ready, g)
	}
}

// enqueue keeps words that cannot be consumed yet.
func (m *merger) enqueue(g *goroutine, words []uint64) {
	g.next += uint64(len(words))
	if g.head > 0 && len(g.queue)+len(words) > cap(g.queue) {
		g.queue = g.queue[:copy(g.queue, g.queue[g.head:])]
		g.head = 0
	}
	g.queue = append(g.queue, words...)
	m.held += uint64(len(words))
}

// release consumes the words that waited for emitted events, until there are enough events to
// deliver.
func (m *merger) release() error {
	for !m.s.full() {
		g := m.waiting[m.next%maxNear]
		if g != nil {
			m.waiting[m.next%maxNear] = nil
		} else if g = m.far[m.next]; g != nil {
			delete(m.far, m.next)
		} else if last := len(m.ready) - 1; last >= 0 {
			g, m.ready = m.ready[last], m.ready[:last]
			g.ready = false
		} else {
			return nil
		}
		n, waits, err := m.consume(g, g.queue[g.head:])
		m.held -= uint64(n)
		g.head += n
		if err != nil {
			return err
		}
		if g.head == len(g.queue) {
			g.queue, g.head = g.queue[:0], 0
		} else if !waits {
			m.resume(g)
		}
	}
	return nil
}

// wait records that g stops at the event with the given stamp.
func (m *merger) wait(g *goroutine, stamp uint64) error {
	if stamp < m.next {
		return m.s.corrupt("stamp %d comes again", stamp)
	}
	if stamp-m.next >= maxNear {
		if old := m.far[stamp]; old != nil {
			return m.s.corrupt("goroutines %d and %d both have stamp %d", old.id, g.id, stamp)
		}
		m.far[stamp] = g
		return nil
	}
	at := &m.waiting[stamp%maxNear]
	if *at != nil {
		return m.s.corrupt("goroutines %d and %d both have stamp %d", (*at).id, g.id, stamp)
	}
	*at = g
	return nil
}
