package rt

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
	tasks   map[string]heisen.Site

	limits limits
	coarse bool // a limit was reached
}

// goroutine is the state of one goroutine's part of the stream.
type goroutine struct {
	id     heisen.Thread
	next   uint64   // words received without a gap
	queue  []uint64 // from head on: of those, what could not be consumed
	head   int
	early  []run // what came after a gap, by position
	forked bool  // its Fork was emitted
	awake  bool  // its Begin was emitted
	ready  bool  // it is in merger.ready
	ended  bool  // its End was emitted; the state is free

	task    []byte // as much of a task's name as has come
	cursor  heisen.Cursor
	context heisen.Context // of cursor, unless stale
	stale   bool
	unkept  uint64     // innermost calls that are not in cursor
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
	m.limits = defaultLimits
	m.gs = map[uint64]*goroutine{}
	m.far = map[uint64]*goroutine{}
	m.tasks = map[string]heisen.Site{}
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
	*g = goroutine{queue: g.queue[:0], holds: g.holds[:0], task: g.task[:0]}
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
			if op != opCall && op != opReturn && op != opTask {
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
		switch op {
		case opRead, opWrite, opReadAgain, opWriteAgain:
			var flags heisen.Flags
			if op >= opReadAgain {
				flags = Repeated
			}
			loc := record[1]
			if size := uint32(loc); size <= maxAccess {
				r := m.emit(g)
				r.Code, r.Obj, r.Loc, r.Len = eventOps[op], heisen.Object(arg), m.s.site(uint32(loc>>32)), uint16(size)
				r.Flags = flags
			} else {
				m.longAccess(g, heisen.Object(arg), loc, eventOps[op], flags)
			}
		case opCall:
			m.call(g, uint32(arg))
		case opReturn:
			m.back(g, arg)
		case opTask:
			if err := m.task(g, arg); err != nil {
				return i, false, err
			}
		case opAlloc, opFree:
			r := m.emit(g)
			r.Code, r.Obj = eventOps[op], heisen.Object(arg)
			r.Loc, r.Val = m.s.site(uint32(record[1]>>32)), uint64(uint32(record[1]))
		case opBegin:
			return i, false, m.s.corrupt("goroutine %d begins again", g.id)
		case opSwitch:
			return i, false, nil
		default:
			if stamp := record[1]; stamp != m.next {
				return i, true, m.wait(g, stamp)
			}
			m.next++
			if err := m.sync(g, op, arg, m.s.site(uint32(record[2]))); err != nil {
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
		i += size
	}
	return i, false, nil
}

// emit adds an event of g, for the caller to fill in what is not its thread and
// context.
func (m *merger) emit(g *goroutine) *heisen.Record {
	if g.stale {
		g.context = m.context(g.cursor)
		g.stale = false
	}
	n := len(m.s.out)
	if n == cap(m.s.out) {
		m.s.out = slices.Grow(m.s.out, batchSize)
	}
	m.s.out = m.s.out[:n+1]
	r := &m.s.out[n]
	// Field by field: a literal would be made elsewhere and copied.
	r.Obj, r.Val, r.TID, r.Loc, r.Ctx, r.Len, r.Code, r.Flags = 0, 0, g.id, 0, g.context, 0, 0, 0
	return r
}

// maxAccess is the longest access of one Record, a multiple of 8.
const maxAccess = 1<<16 - 8

// longAccess emits an access in pieces, for a Record cannot say how long it is.
func (m *merger) longAccess(g *goroutine, obj heisen.Object, w uint64, op heisen.Op, flags heisen.Flags) {
	size := uint64(uint32(w))
	site := m.s.site(uint32(w >> 32))
	for size > 0 {
		n := min(size, maxAccess-uint64(obj)%8)
		r := m.emit(g)
		r.Code, r.Obj, r.Loc, r.Len, r.Flags = op, obj, site, uint16(n), flags
		obj += heisen.Object(n)
		size -= n
	}
}

// begin emits the first event of a goroutine.
func (m *merger) begin(g *goroutine, goid uint64) {
	info := m.s.syms.Thread(g.id)
	switch {
	case g.id == 0:
		info.Name = "main goroutine"
	case goid != 0:
		info.Name = fmt.Sprintf("goroutine %d", goid)
	default:
		info.Name = "runtime timers"
	}
	m.s.syms.SetThread(g.id, info)
	r := m.emit(g)
	r.Code, r.Val = heisen.Begin, goid
}

// maxTask bounds a task's name, in bytes.
const maxTask = 1 << 12

// task takes seven bytes of a task's name. With the last of them g begins the
// task: a call in its path.
func (m *merger) task(g *goroutine, bytes uint64) error {
	for range 7 {
		b := byte(bytes)
		bytes >>= 8
		if b != 0 {
			g.task = append(g.task, b)
			continue
		}
		if bytes != 0 {
			return m.s.corrupt("a task's name goes on after its end")
		}
		name := string(g.task)
		g.task, g.stale = g.task[:0], true
		if name == "" {
			g.cursor = m.endTask(g.cursor)
			return nil
		}
		site, known := m.tasks[name]
		if !known {
			site = m.s.syms.AddSite(heisen.SiteInfo{Task: name})
			m.tasks[name] = site
		}
		g.cursor = m.s.syms.Call(g.cursor, site)
		return nil
	}
	if len(g.task) > maxTask {
		return m.s.corrupt("a task's name of more than %d bytes", maxTask)
	}
	return nil
}

// endTask takes the innermost task out of a path. There may be calls above it:
// those that a panic is about to leave.
func (m *merger) endTask(c heisen.Cursor) heisen.Cursor {
	syms := m.s.syms
	_, calls, _, _ := syms.Tables()
	var above []heisen.Site
	for at := c; at.Calls != 0; at = syms.Return(at) {
		site := calls[at.Calls].Site
		if syms.Site(site).Task == "" {
			above = append(above, site)
			continue
		}
		at = syms.Return(at)
		for _, call := range slices.Backward(above) {
			at = syms.Call(at, call)
		}
		return at
	}
	return c
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
			r.Code, r.Obj = heisen.Send, collector
		}
	}
	r := m.emit(g)
	r.Code, r.Obj = heisen.Receive, collector
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
		r.Code, r.Obj = heisen.Send, collector
	}
	r := m.emit(g)
	r.Code, r.Obj, r.Loc = eventOps[op], heisen.Object(arg), site
	switch op {
	case opAcquire, opRelease, opAcquireShared, opReleaseShared:
		r.Flags = heisen.LockWord
	case opTryAcquire, opTryAcquireShared:
		r.Flags = heisen.LockWord | heisen.NoWait
	case opChanceReceive:
		r.Flags = heisen.Chance
	}
	switch code := r.Code; code {
	case heisen.Acquire, heisen.AcquireShared:
		m.hold(g, heisen.Held{Lock: heisen.Object(arg), Shared: code == heisen.AcquireShared, Site: site})
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
