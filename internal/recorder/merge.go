package recorder

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
)

// merger puts the goroutines' words into one order of events.
//
// A goroutine's words are consumed in its own order. An access is emitted as
// soon as everything before it in its goroutine has been; a synchronisation
// event when its stamp is the next; the first event of a goroutine when its
// Fork has been emitted. Every event is thereby emitted after all that happens
// before it.
type merger struct {
	s    *Stream
	gs   map[uint64]*goroutine // by number, until their last event
	next uint64                // the stamp that comes next
	// waiting holds the goroutine whose first unconsumed word is the
	// synchronisation event with stamp t, at t modulo its length; far holds those
	// that are further away than that.
	waiting [maxNear]*goroutine
	far     map[uint64]*goroutine
	ready   []*goroutine // whose words wait for nothing
	held    uint64       // words that wait
	free    []*goroutine // that have ended
}

// goroutine is the state of one goroutine's part of the stream.
type goroutine struct {
	id     heisen.Thread
	next   uint64   // words received without a gap
	queue  []uint64 // from head on: of those, what could not be consumed
	head   int
	early  []run    // what came after a gap, by position
	forked bool     // its Fork was emitted
	awake  bool     // its Begin was emitted
	ready  bool     // it is in merger.ready
	shaded bool     // what it does is of hidden code
	roots  []uint64 // what its next hidden call begins with
	placed bool     // it has said at which operation it is
	at     uint64   // that
	ended  bool     // its End was emitted; the state is free

	cursor  heisen.Cursor
	context heisen.Context // of cursor, unless stale
	stale   bool
	holds   []heldLock // in order of acquisition
}

type run struct {
	at    uint64
	words []uint64
}

// maxNear is how many stamps ahead the goroutines that wait are found fastest.
const maxNear = 1 << 12

// maxGoroutines is how many numbers goroutines can have.
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

// newGoroutine returns an empty state, if it can one that has served: programs
// start millions of goroutines.
func (m *merger) newGoroutine() *goroutine {
	last := len(m.free) - 1
	if last < 0 {
		return new(goroutine)
	}
	g := m.free[last]
	m.free = m.free[:last]
	*g = goroutine{queue: g.queue[:0], holds: g.holds[:0], roots: g.roots[:0]}
	return g
}

// maxKept bounds the queue, in words, that a free state keeps.
const maxKept = 1 << 10

// forget takes back the state of a goroutine that has ended.
func (m *merger) forget(g *goroutine) {
	delete(m.gs, uint64(g.id))
	if cap(g.queue) <= maxKept {
		g.ended = true
		m.free = append(m.free, g)
	}
}

// pending returns how many words have come that could not be emitted.
func (m *merger) pending() uint64 { return m.held }

// lost counts the events among them.
func (m *merger) lost() (events uint64) {
	count := func(words []uint64) {
		for len(words) > 0 {
			op := words[0] >> opShift
			if op != opShade && op != opRoot && op != opPoint {
				events++
			}
			words = words[recordWords[op]:]
		}
	}
	for _, g := range m.gs {
		count(g.queue[g.head:])
		for _, r := range g.early {
			count(r.words)
		}
	}
	return events
}

// deliver takes words of g up to a switch to another goroutine, or fewer if they
// make enough events, and returns how many it took. at is how many came before
// in g's life.
func (m *merger) deliver(g *goroutine, at uint64, words []uint64) (n int, err error) {
	switch {
	case at == g.next && g.head == len(g.queue):
		// As a rule nothing waits, and the words need not be looked at twice.
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
		} else if n < len(words) && words[n]>>opShift != opSwitch {
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
			g.early = append(g.early, run{at, append([]uint64(nil), part...)})
			m.held += uint64(n)
			return n, nil
		}
		m.enqueue(g, part)
	}
	for i := 0; i < len(g.early); i++ {
		if r := g.early[i]; r.at == g.next {
			g.early = append(g.early[:i], g.early[i+1:]...)
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
		op := words[n] >> opShift
		if op == opSwitch {
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

// resume makes release look at the words of g.
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

// release consumes what waited for the events emitted since, until there are
// enough to deliver.
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

// wait notes that g stops at the event with the given stamp.
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

// consume emits the events that words, the next of g, stand for. It returns how
// many words it got through: all, or those before a switch or before one that
// waits, or as many as make enough events.
func (m *merger) consume(g *goroutine, words []uint64) (i int, waits bool, err error) {
	if !g.awake {
		if len(words) == 0 {
			return 0, false, nil
		}
		w := words[0]
		if w>>opShift != opBegin {
			return 0, false, m.s.corrupt("goroutine %d begins with %#x", g.id, w)
		}
		if w&orphan == 0 && !g.forked {
			return 0, true, nil
		}
		g.awake = true
		m.begin(g, w&goidMax)
		i = 1
	}
	for i < len(words) && !m.s.full() {
		w := words[i]
		op, arg := w>>opShift, w&argMask
		record := words[i:]
		size := int(recordWords[op])
		if size == 0 || size > len(record) {
			return i, false, m.s.corrupt("record %#x", w)
		}
		first := len(m.s.out)
		switch op {
		case opRead, opWrite, opReadAgain, opWriteAgain:
			var flags heisen.Flags
			if g.shaded {
				flags = Covered
			}
			if op >= opReadAgain {
				flags |= Repeated
			}
			site, err := m.at(g, record[1]>>32)
			if err != nil {
				return i, false, err
			}
			if size := uint32(record[1]); size <= maxAccess {
				r := m.emit(g)
				r.Op, r.Object, r.Site, r.Len, r.Flags = eventOps[op], heisen.Object(arg), site, uint16(size), flags
			} else {
				m.longAccess(g, heisen.Object(arg), uint64(size), site, eventOps[op], flags)
			}
		case opAlloc, opFree:
			site, err := m.at(g, record[1]>>32)
			if err != nil {
				return i, false, err
			}
			r := m.emit(g)
			r.Op, r.Object, r.Site, r.Value = eventOps[op], heisen.Object(arg), site, uint64(uint32(record[1]))
		case opShade:
			g.shaded = arg != 0
		case opRoot:
			g.roots = append(g.roots, arg)
		case opPoint:
			if arg >= 1<<32 || arg != 0 && arg <= g.at&(1<<32-1) {
				return i, false, m.s.corrupt("goroutine %d comes to access %d after access %d", g.id, arg, g.at&(1<<32-1))
			}
			if arg == 0 {
				g.at += 1 << 32
			}
			g.at, g.placed = g.at&^(1<<32-1)|arg, true
		case opBegin:
			return i, false, m.s.corrupt("goroutine %d begins again", g.id)
		case opOverlap:
			if stamp := record[1]; stamp != m.next {
				return i, true, m.wait(g, stamp)
			}
			m.next++
			if err := m.overlaps(g, record); err != nil {
				return i, false, err
			}
		case opSwitch:
			return i, false, nil
		default:
			if stamp := record[1]; stamp != m.next {
				return i, true, m.wait(g, stamp)
			}
			site, err := m.at(g, record[2])
			if err != nil {
				return i, false, err
			}
			m.next++
			if op == opHide {
				err = m.hide(g, arg, site, record[1], record[3])
			} else {
				err = m.sync(g, op, arg, site)
			}
			if g.shaded && op != opReveal && op != opHide {
				m.cover(first)
			}
			if err != nil {
				return i, false, err
			}
			if op == opEnd {
				i += size
				if i < len(words) && words[i]>>opShift != opSwitch {
					return i, false, m.s.corrupt("goroutine %d goes on after its end", g.id)
				}
				m.forget(g)
				return i, false, nil
			}
		}
		if g.placed {
			m.place(g, first)
		}
		i += size
	}
	return i, false, nil
}

// cover marks the events from first on that are not the existence of goroutines.
func (m *merger) cover(first int) {
	for i := range m.s.out[first:] {
		switch r := &m.s.out[first+i]; r.Op {
		case heisen.Fork, heisen.Begin, heisen.End:
		default:
			r.Flags |= Covered
		}
	}
}

// place says of the events of g from first on of which operation they are.
func (m *merger) place(g *goroutine, first int) {
	for i := range m.s.out[first:] {
		if r := &m.s.out[first+i]; r.Thread == g.id && (r.Op.IsAccess() || r.Op.IsSync()) {
			r.Value, r.Flags = g.at, r.Flags|Placed
		}
	}
}

// emit adds an event of g, for the caller to fill in what is not its thread and
// context.
func (m *merger) emit(g *goroutine) *heisen.Record {
	if g.stale {
		g.context = m.s.syms.Context(g.cursor)
		g.stale = false
	}
	n := len(m.s.out)
	if n == cap(m.s.out) {
		m.s.out = slices.Grow(m.s.out, batchSize)
	}
	m.s.out = m.s.out[:n+1]
	r := &m.s.out[n]
	// Field by field: a literal would be made elsewhere and copied.
	r.Object, r.Value, r.Thread, r.Site, r.Context, r.Len, r.Op, r.Flags = 0, 0, g.id, 0, g.context, 0, 0, 0
	return r
}

// maxAccess is the longest access of one Record, a multiple of 8.
const maxAccess = 1<<16 - 8

// longAccess emits an access in pieces, for a Record cannot say how long it is.
func (m *merger) longAccess(g *goroutine, obj heisen.Object, size uint64, site heisen.Site, op heisen.Op, flags heisen.Flags) {
	for size > 0 {
		n := min(size, maxAccess-uint64(obj)%8)
		r := m.emit(g)
		r.Op, r.Object, r.Site, r.Len, r.Flags = op, obj, site, uint16(n), flags
		obj += heisen.Object(n)
		size -= n
	}
}

// at moves g to a place and returns the place's site.
func (m *merger) at(g *goroutine, place uint64) (heisen.Site, error) {
	p, err := m.s.place(place)
	if err != nil {
		return 0, err
	}
	if g.cursor.Calls != p.calls {
		g.cursor.Calls, g.stale = p.calls, true
	}
	return p.site, nil
}

// begin emits the first event of a goroutine.
func (m *merger) begin(g *goroutine, goid uint64) {
	info := m.s.syms.Thread(g.id)
	if info.Name == "" { // otherwise it was told with its descent
		info.Name = threadName(g.id, goid)
		m.s.syms.SetThread(g.id, info)
	}
	r := m.emit(g)
	r.Op, r.Value = heisen.Begin, goid
}

// threadName is what a goroutine is called, by the runtime's number, which is 0 for what is
// none.
func threadName(id heisen.Thread, goid uint64) string {
	switch {
	case id == 0:
		return "main goroutine"
	case goid != 0:
		return fmt.Sprintf("goroutine %d", goid)
	}
	return "runtime timers"
}

// collector is the message by which goroutines tell the garbage collector, and
// it the finalizers, that they are done with an object. It is no address that a
// Go program can have.
const collector heisen.Object = 1 << 55

// collected emits what makes everything so far happen before the finalizers that
// g is about to run. Goroutines that have ended have sent theirs.
func (m *merger) collected(g *goroutine) {
	for _, id := range slices.Sorted(maps.Keys(m.gs)) {
		if h := m.gs[id]; h != g && h.awake {
			r := m.emit(h)
			r.Op, r.Object = heisen.Send, collector
		}
	}
	r := m.emit(g)
	r.Op, r.Object = heisen.Receive, collector
}

// sync emits a synchronisation event and follows what it does to the locks held
// and to the goroutines that exist.
func (m *merger) sync(g *goroutine, op, arg uint64, site heisen.Site) error {
	switch op {
	case opCollected:
		m.collected(g)
		return nil
	case opEnd:
		r := m.emit(g)
		r.Op, r.Object = heisen.Send, collector
	case opStep:
		r := m.emit(g)
		r.Op, r.Object, r.Site = heisen.Observe, heisen.Object(arg), site
	}
	r := m.emit(g)
	r.Op, r.Object, r.Site = eventOps[op], heisen.Object(arg), site
	switch op {
	case opAcquire, opRelease, opAcquireShared, opReleaseShared:
		r.Flags = heisen.LockWord
	case opTryAcquire, opTryAcquireShared:
		r.Flags = heisen.LockWord | heisen.NoWait
	case opChanceReceive:
		r.Flags = heisen.Chance
	case opEnd:
		r.Object = 0
	}
	switch code := r.Op; code {
	case heisen.Acquire, heisen.AcquireShared:
		m.hold(g, heisen.HeldLock{Lock: heisen.Object(arg), Shared: code == heisen.AcquireShared, Site: site})
	case heisen.Release, heisen.ReleaseShared:
		m.drop(g, heisen.Object(arg), code == heisen.ReleaseShared)
	case heisen.Fork:
		child, err := m.goroutine(arg)
		if err != nil {
			return err
		}
		if child.forked || child.awake {
			return m.s.corrupt("goroutine %d is started again", arg)
		}
		child.forked = true
		m.s.syms.SetThread(child.id, heisen.ThreadInfo{Forked: true, Parent: g.id, Site: site, Context: g.context})
		if child.head < len(child.queue) {
			m.resume(child)
		}
	}
	return nil
}
