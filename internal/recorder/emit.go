package recorder

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// consume emits the events in words, the next ones of g. It returns the number of words consumed:
// all, or those before a switch, before an event that waits, or as many as make enough events.
func (m *merger) consume(g *goroutine, words []uint64) (i int, waits bool, err error) {
	if !g.begun {
		i, waits, err = m.start(g, words)
		if i == 0 {
			return i, waits, err
		}
	}
	for i < len(words) && !m.s.full() {
		w := words[i]
		op, arg := w>>wire.OpShift, w&wire.ArgMask
		record := words[i:]
		size := int(recordWords[op])
		if size == 0 || size > len(record) {
			return i, false, m.s.corrupt("record %#x", w)
		}
		first := len(m.s.out)
		switch op {
		case wire.OpRead, wire.OpWrite, wire.OpReadAgain, wire.OpWriteAgain:
			var flags heisen.Flags
			if g.inHidden {
				flags = HiddenCode
			}
			if op >= wire.OpReadAgain {
				flags |= Repeated
			}
			site, err := m.moveTo(g, record[1]>>32)
			if err != nil {
				return i, false, err
			}
			switch size := uint32(record[1]); {
			case m.join(g, eventOps[op], heisen.Object(arg), size, site, flags):
			case size <= maxAccess:
				r := m.emit(g)
				r.Op, r.Object, r.Site, r.Len, r.Flags = eventOps[op], heisen.Object(arg), site, uint16(size), flags
			default:
				m.longAccess(g, heisen.Object(arg), uint64(size), site, eventOps[op], flags)
			}
		case wire.OpValue:
			r := m.emit(g)
			r.Op, r.Object, r.Value, r.Flags = heisen.Done, heisen.Object(arg), record[1], heisen.HasValue
		case wire.OpToken:
			r := m.emit(g)
			r.Op, r.Object, r.Value = heisen.Done, heisen.Object(arg), record[1]
		case wire.OpAlloc, wire.OpFree:
			if err := m.emitAllocation(g, op, arg, record); err != nil {
				return i, false, err
			}
		case wire.OpHide, wire.OpReveal:
			if err := m.hiddenCall(g, op, arg, record[1]>>32); err != nil {
				return i, false, err
			}
		case wire.OpShade:
			g.inHidden = arg != 0
		case wire.OpEntered:
			if !g.entered || int(arg) < g.kept {
				g.entered, g.kept = true, int(arg)
			}
		case wire.OpPoint:
			if err := m.advance(g, arg); err != nil {
				return i, false, err
			}
		case wire.OpBegin:
			return i, false, m.s.corrupt("goroutine %d begins again", g.id)
		case wire.OpOverlap:
			if stamp := record[1]; stamp != m.next {
				return i, true, m.wait(g, stamp)
			}
			m.next++
			if err := m.overlaps(g, record); err != nil {
				return i, false, err
			}
		case wire.OpSwitch:
			return i, false, nil
		default:
			if stamp := record[1]; stamp != m.next {
				return i, true, m.wait(g, stamp)
			}
			if err := m.emitStamped(g, op, arg, record); err != nil {
				return i, false, err
			}
			if op == wire.OpEnd {
				return i + size, false, m.end(g, words[i+size:])
			}
		}
		if g.numbered {
			m.number(g, first)
		}
		i += size
	}
	return i, false, nil
}

// end ends a goroutine. rest are the words after its end.
func (m *merger) end(g *goroutine, rest []uint64) error {
	if len(rest) > 0 && rest[0]>>wire.OpShift != wire.OpSwitch {
		return m.s.corrupt("goroutine %d continues after its end", g.id)
	}
	m.recycle(g)
	return nil
}

// start consumes the first word of a goroutine and emits its first event. It consumes nothing if the
// goroutine waits for its Fork.
func (m *merger) start(g *goroutine, words []uint64) (n int, waits bool, err error) {
	if len(words) == 0 {
		return 0, false, nil
	}
	w := words[0]
	if w>>wire.OpShift != wire.OpBegin {
		return 0, false, m.s.corrupt("goroutine %d begins with %#x", g.id, w)
	}
	if w&wire.Orphan == 0 && !g.forked {
		return 0, true, nil
	}
	g.begun = true
	m.begin(g, w&goidMax)
	return 1, false, nil
}

// advance sets the operation number of g: that of its next point if arg is 0, else that of the
// access number arg after the latest point.
func (m *merger) advance(g *goroutine, arg uint64) error {
	latest := g.opNumber & (1<<32 - 1)
	if arg >= 1<<32 || arg != 0 && arg <= latest {
		return m.s.corrupt("goroutine %d comes to access %d after access %d", g.id, arg, latest)
	}
	if arg == 0 {
		g.opNumber += 1 << 32
	}
	g.opNumber, g.numbered = g.opNumber&^(1<<32-1)|arg, true
	return nil
}

// emitAllocation emits the event of an allocation or a free.
func (m *merger) emitAllocation(g *goroutine, op, arg uint64, record []uint64) error {
	site, err := m.moveTo(g, record[1]>>32)
	if err != nil {
		return err
	}
	r := m.emit(g)
	r.Op, r.Object, r.Site, r.Value = eventOps[op], heisen.Object(arg), site, uint64(uint32(record[1]))
	return nil
}

// emitStamped emits the events of a record whose stamp is the next: synchronization.
func (m *merger) emitStamped(g *goroutine, op, arg uint64, record []uint64) error {
	first := len(m.s.out)
	site, err := m.moveTo(g, record[2])
	if err != nil {
		return err
	}
	m.next++
	err = m.sync(g, op, arg, site)
	if g.inHidden {
		m.markHidden(first)
	}
	return err
}

// markHidden sets HiddenCode on the events from first on that do not create or end goroutines.
func (m *merger) markHidden(first int) {
	for i := range m.s.out[first:] {
		switch r := &m.s.out[first+i]; r.Op {
		case heisen.Fork, heisen.Begin, heisen.End:
		default:
			r.Flags |= HiddenCode
		}
	}
}

// number sets the operation number of the events of g from first on.
func (m *merger) number(g *goroutine, first int) {
	for i := range m.s.out[first:] {
		if r := &m.s.out[first+i]; r.Thread == g.id && (r.Op.IsAccess() || r.Op.IsSync()) {
			r.Value, r.Flags = g.opNumber, r.Flags|Numbered
		}
	}
}

// emit adds an event of g. The caller sets all fields but thread and context.
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
	// Field by field: a literal would be built elsewhere and copied.
	r.Object, r.Value, r.Thread, r.Site, r.Context, r.Len, r.Op, r.Flags = 0, 0, g.id, 0, g.context, 0, 0, 0
	return r
}

// joinable is the number of latest accesses of a goroutine that another access may continue.
const joinable = 4

// join makes an access a part of an earlier one that ends where it begins, as in a loop over the elements of
// a slice. It reports whether it did. Between the two, there is nothing but accesses of the goroutine.
func (m *merger) join(g *goroutine, op heisen.Op, obj heisen.Object, size uint32, site heisen.Site, flags heisen.Flags) bool {
	if !m.s.joins || g.stale || g.numbered {
		return false
	}
	latest := m.s.out[max(m.s.done, len(m.s.out)-joinable):]
	for i := len(latest) - 1; i >= 0; i-- {
		r := &latest[i]
		if r.Thread != g.id || r.Op != heisen.Read && r.Op != heisen.Write {
			return false
		}
		if r.Object+heisen.Object(r.Len) == obj && r.Site == site && r.Op == op && r.Context == g.context && r.Flags == flags &&
			uint64(r.Len)+uint64(size) <= maxAccess {
			r.Len += uint16(size)
			return true
		}
	}
	return false
}

// maxAccess is the longest access of a Record, a multiple of 8.
const maxAccess = 1<<16 - 8

// longAccess emits an access that is too long for a Record in pieces.
func (m *merger) longAccess(g *goroutine, obj heisen.Object, size uint64, site heisen.Site, op heisen.Op, flags heisen.Flags) {
	for size > 0 {
		n := min(size, maxAccess-uint64(obj)%8)
		r := m.emit(g)
		r.Op, r.Object, r.Site, r.Len, r.Flags = op, obj, site, uint16(n), flags
		obj += heisen.Object(n)
		size -= n
	}
}

// moveTo moves g to a place and returns the place's site.
func (m *merger) moveTo(g *goroutine, place uint64) (heisen.Site, error) {
	p, err := m.s.place(place)
	if err != nil {
		return 0, err
	}
	changed := g.cursor.Calls != p.calls
	if changed {
		g.cursor.Calls, g.stale = p.calls, true
	}
	if m.s.tellsCalls && (changed || g.entered) {
		m.follow(g, p.site)
	}
	return p.site, nil
}

// begin emits the first event of a goroutine.
func (m *merger) begin(g *goroutine, goid uint64) {
	info := m.s.syms.Thread(g.id)
	if info.Name == "" || info.Name == forgotten { // else its origin was sent
		info.Name = threadName(g.id, goid)
		m.s.syms.SetThread(g.id, info)
	}
	r := m.emit(g)
	r.Op, r.Value = heisen.Begin, goid
}

// threadName returns the name of a goroutine by the runtime's number, which is 0 if it is no
// goroutine.
func threadName(id heisen.Thread, goid uint64) string {
	switch {
	case id == 0:
		return "main goroutine"
	case goid != 0:
		return fmt.Sprintf("goroutine %d", goid)
	}
	return timers
}

// timers is the name of the thread on which functions of timers run that are no goroutines.
const timers = "runtime timers"

// RunsTimers reports whether a thread is the one on which timers run. Its events of different timers follow each other
// by chance.
func RunsTimers(symbols *heisen.Symbols, id heisen.Thread) bool {
	return symbols.Thread(id).Name == timers
}

// Collector is the message object through which goroutines are ordered before the garbage
// collector, and the collector before finalizers. No address of a Go program has this value.
const Collector heisen.Object = 1 << 55

// collected emits events that order everything so far before the finalizers that g is about to run.
// Goroutines that have ended have sent theirs.
func (m *merger) collected(g *goroutine) {
	for _, id := range slices.Sorted(maps.Keys(m.gs)) {
		if h := m.gs[id]; h != g && h.begun {
			r := m.emit(h)
			r.Op, r.Object = heisen.Send, Collector
		}
	}
	r := m.emit(g)
	r.Op, r.Object = heisen.Receive, Collector
}

// sync emits a synchronization event and updates the locks held and the goroutines that exist.
func (m *merger) sync(g *goroutine, op, arg uint64, site heisen.Site) error {
	switch op {
	case wire.OpCollected:
		m.collected(g)
		return nil
	case wire.OpEnd:
		r := m.emit(g)
		r.Op, r.Object = heisen.Send, Collector
	case wire.OpStep:
		r := m.emit(g)
		r.Op, r.Object, r.Site = heisen.Observe, heisen.Object(arg), site
	}
	r := m.emit(g)
	r.Op, r.Object, r.Site = eventOps[op], heisen.Object(arg), site
	switch op {
	case wire.OpAcquire, wire.OpRelease, wire.OpAcquireShared, wire.OpReleaseShared:
		r.Flags = heisen.LockWord
	case wire.OpTryAcquire, wire.OpTryAcquireShared:
		r.Flags = heisen.LockWord | heisen.NoWait
	case wire.OpChanceReceive:
		r.Flags = heisen.Chance
	case wire.OpEnd:
		r.Object = 0
	case wire.OpRenew:
		r.Value = 8
	}
	switch code := r.Op; code {
	case heisen.Acquire, heisen.AcquireShared:
		m.acquired(g, heisen.HeldLock{Lock: heisen.Object(arg), Shared: code == heisen.AcquireShared, Site: site})
	case heisen.Release, heisen.ReleaseShared:
		m.released(g, heisen.Object(arg), code == heisen.ReleaseShared)
	case heisen.Fork:
		child, err := m.goroutine(arg)
		if err != nil {
			return err
		}
		if child.forked || child.begun {
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
