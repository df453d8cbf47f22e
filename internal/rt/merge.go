package rt

import (
	"cmp"
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
	ready   []*goroutine // forked while their words waited
	held    uint64       // words that wait
	tasks   map[string]heisen.Site
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

	task    []byte // as much of a task's name as has come
	cursor  heisen.Cursor
	context heisen.Context // of cursor, unless stale
	stale   bool
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
	m.tasks = map[string]heisen.Site{}
}

// goroutine returns the state of a goroutine by number.
func (m *merger) goroutine(id uint64) (*goroutine, error) {
	if id >= maxGoroutines {
		return nil, m.s.corrupt("goroutine %d", id)
	}
	g := m.gs[id]
	if g == nil {
		g = &goroutine{id: heisen.Thread(id)}
		m.gs[id] = g
	}
	return g, nil
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

// deliver takes words of g, of which at came before in its life.
func (m *merger) deliver(g *goroutine, at uint64, words []uint64) error {
	if at > g.next {
		g.early = append(g.early, run{at, append([]uint64(nil), words...)})
		m.held += uint64(len(words))
		return nil
	}
	if at < g.next {
		return m.s.corrupt("goroutine %d has %d words, and word %d comes again", g.id, g.next, at)
	}
	if err := m.extend(g, words); err != nil {
		return err
	}
	for i := 0; i < len(g.early); i++ {
		if r := g.early[i]; r.at == g.next {
			g.early = append(g.early[:i], g.early[i+1:]...)
			m.held -= uint64(len(r.words))
			if err := m.extend(g, r.words); err != nil {
				return err
			}
			i = -1
		}
	}
	return m.release()
}

// extend consumes words that follow directly on what g has, or queues them.
func (m *merger) extend(g *goroutine, words []uint64) error {
	g.next += uint64(len(words))
	if g.head == len(g.queue) {
		n, err := m.consume(g, words)
		if err != nil {
			return err
		}
		words = words[n:]
	}
	if g.head > 0 && len(g.queue)+len(words) > cap(g.queue) {
		g.queue = g.queue[:copy(g.queue, g.queue[g.head:])]
		g.head = 0
	}
	g.queue = append(g.queue, words...)
	m.held += uint64(len(words))
	return nil
}

// release consumes what waited for the events emitted since.
func (m *merger) release() error {
	for {
		g := m.waiting[m.next%maxNear]
		if g != nil {
			m.waiting[m.next%maxNear] = nil
		} else if g = m.far[m.next]; g != nil {
			delete(m.far, m.next)
		} else if last := len(m.ready) - 1; last >= 0 {
			g, m.ready = m.ready[last], m.ready[:last]
		} else {
			return nil
		}
		n, err := m.consume(g, g.queue[g.head:])
		m.held -= uint64(n)
		g.head += n
		if err != nil {
			return err
		}
		if g.head == len(g.queue) {
			g.queue, g.head = g.queue[:0], 0
		}
	}
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

// consume emits the events that words, the next of g, stand for, and returns
// how many words it got through before one had to wait.
func (m *merger) consume(g *goroutine, words []uint64) (int, error) {
	i := 0
	if !g.awake {
		if len(words) == 0 {
			return 0, nil
		}
		w := words[0]
		if w>>opShift != opBegin {
			return 0, m.s.corrupt("goroutine %d begins with %#x", g.id, w)
		}
		if w&orphan == 0 && !g.forked {
			return 0, nil
		}
		g.awake = true
		m.begin(g, w&goidMax)
		i = 1
	}
	syms := m.s.syms
	for i < len(words) {
		w := words[i]
		op, arg := w>>opShift, w&argMask
		switch op {
		case opRead, opWrite:
			m.access(g, heisen.Object(arg), words[i+1], eventOps[op], 0)
			i += 2
		case opReadAgain, opWriteAgain:
			m.access(g, heisen.Object(arg), words[i+1], eventOps[op], Repeated)
			i += 2
		case opCall:
			g.cursor = syms.Call(g.cursor, m.s.site(uint32(arg)))
			g.stale = true
			i++
		case opTask:
			if err := m.task(g, arg); err != nil {
				return i, err
			}
			i++
		case opReturn:
			for ; arg > 0 && g.cursor.Calls != 0; arg-- {
				g.cursor = syms.Return(g.cursor)
			}
			g.stale = true
			i++
		case opAlloc, opFree:
			m.emit(g, heisen.Record{
				Code: eventOps[op], Obj: heisen.Object(arg),
				Loc: m.s.site(uint32(words[i+1] >> 32)), Val: uint64(uint32(words[i+1])),
			})
			i += 2
		case opBegin, opSwitch:
			return i, m.s.corrupt("goroutine %d begins again", g.id)
		default:
			if stamp := words[i+1]; stamp != m.next {
				return i, m.wait(g, stamp)
			}
			m.next++
			if err := m.sync(g, op, arg, m.s.site(uint32(words[i+2]))); err != nil {
				return i, err
			}
			i += 3
			if op == opEnd {
				if i < len(words) {
					return i, m.s.corrupt("goroutine %d goes on after its end", g.id)
				}
				delete(m.gs, uint64(g.id))
				return i, nil
			}
		}
	}
	return i, nil
}

func (m *merger) emit(g *goroutine, r heisen.Record) {
	if g.stale {
		g.context = m.s.syms.Context(g.cursor)
		g.stale = false
	}
	r.TID, r.Ctx = g.id, g.context
	m.s.out = append(m.s.out, r)
}

// maxAccess is the longest access of one Record, a multiple of 8.
const maxAccess = 1<<16 - 8

// access emits an access, in pieces if it is longer than a Record can say.
func (m *merger) access(g *goroutine, obj heisen.Object, w uint64, op heisen.Op, flags heisen.Flags) {
	size := uint64(uint32(w))
	site := m.s.site(uint32(w >> 32))
	for size > maxAccess {
		n := maxAccess - uint64(obj)%8
		m.emit(g, heisen.Record{Code: op, Obj: obj, Loc: site, Len: uint16(n), Flags: flags})
		obj += heisen.Object(n)
		size -= n
	}
	m.emit(g, heisen.Record{Code: op, Obj: obj, Loc: site, Len: uint16(size), Flags: flags})
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
	m.emit(g, heisen.Record{Code: heisen.Begin, Val: goid})
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
			m.emit(h, heisen.Record{Code: heisen.Send, Obj: collector})
		}
	}
	m.emit(g, heisen.Record{Code: heisen.Receive, Obj: collector})
}

// sync emits a synchronisation event and follows what it does to the locks held
// and to the goroutines that exist.
func (m *merger) sync(g *goroutine, op, arg uint64, site heisen.Site) error {
	syms := m.s.syms
	switch op {
	case opCollected:
		m.collected(g)
		return nil
	case opEnd:
		m.emit(g, heisen.Record{Code: heisen.Send, Obj: collector})
	}
	r := heisen.Record{Code: eventOps[op], Obj: heisen.Object(arg), Loc: site}
	switch op {
	case opAcquire, opRelease, opAcquireShared, opReleaseShared:
		r.Flags = heisen.LockWord
	case opTryAcquire, opTryAcquireShared:
		r.Flags = heisen.LockWord | heisen.NoWait
	case opChanceReceive:
		r.Flags = heisen.Chance
	}
	m.emit(g, r)
	switch r.Code {
	case heisen.Acquire, heisen.AcquireShared:
		g.cursor = syms.Acquire(g.cursor, heisen.Held{Lock: r.Obj, Shared: r.Code == heisen.AcquireShared, Site: site})
		g.stale = true
	case heisen.Release, heisen.ReleaseShared:
		m.drop(g, r.Obj, r.Code == heisen.ReleaseShared)
	case heisen.Fork:
		child, err := m.goroutine(arg)
		if err != nil {
			return err
		}
		if child.forked || child.awake {
			return m.s.corrupt("goroutine %d is started again", arg)
		}
		child.forked = true
		syms.SetThread(child.id, heisen.ThreadInfo{Forked: true, Parent: g.id, Site: site, Context: g.context})
		if child.head < len(child.queue) {
			m.ready = append(m.ready, child)
		}
	}
	return nil
}

// drop ends a hold of lock: g's own, or, for Go lets any goroutine unlock a
// mutex, that of whoever has one.
func (m *merger) drop(g *goroutine, lock heisen.Object, shared bool) {
	if cursor, ok := m.s.syms.Release(g.cursor, lock, shared); ok {
		g.cursor, g.stale = cursor, true
		return
	}
	var holders []*goroutine
	for _, h := range m.gs {
		if h.cursor.Locks != 0 {
			holders = append(holders, h)
		}
	}
	slices.SortFunc(holders, func(a, b *goroutine) int { return cmp.Compare(a.id, b.id) })
	for _, h := range holders {
		if cursor, ok := m.s.syms.Release(h.cursor, lock, shared); ok {
			h.cursor, h.stale = cursor, true
			return
		}
	}
}
