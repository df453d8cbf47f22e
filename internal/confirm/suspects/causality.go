package suspects

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/readuse"
	"github.com/heisen-go/heisen/internal/recorder"
)

// Causality says which reads must see what they saw in a run for another order to be possible.
type Causality uint8

const (
	// OrderCausality: each read must see the same write.
	OrderCausality Causality = iota
	// ValueCausality: it may see any write of the same value.
	ValueCausality
	// ControlCausality: reads on which only plain writes depend may see any value.
	ControlCausality
)

// causality passes the events of an execution with values to a predictor: with the values at the accesses, as far as the
// sizes of variables are known, and with heisen.Decides at the reads on which more than a plain write may depend.
// It passes on all events but Done, in their order.
//
// A channel that holds at most one element is a lock that any goroutine may release: a send acquires it, and a receive
// releases it, whoever sends and receives. So these operations are passed on as Acquire and Release. A receive that gets an
// element of some size comes after the same sends as in the execution, by a message. Where the channel is also closed, or
// looked at, it is a message itself, too, and keeps its order.
//
// Package internal/poll keeps writes to a file apart by atomic operations, which are a lock too, as long as the file is neither
// read nor closed. So goroutines that print may do so in another order.
//
// A goroutine that inserts into a map may allocate memory, in which others insert later. Had they come first, they would have
// allocated it. So such an allocation is left out, if nothing was in that memory before.
type causality struct {
	lines   *readuse.Lines
	symbols *heisen.Symbols
	to      heisen.Detector
	bySite  []*readuse.Line
	byPlace map[place]*readuse.Line

	group []heisen.Record // accesses in a row of one goroutine on one line, which have not been passed on; one if the line says nothing of them
	line  *readuse.Line   // theirs
	done  bool            // the last of them has a Done event, so it is no access of package runtime

	touched map[heisen.Object]bool // pieces of memory that were accessed, by their number

	writing map[called]bool                 // the operations that lock a file for writing, or unlock it
	writers map[heisen.Object]heisen.Thread // who holds these locks

	// The operation on a channel that is being passed on.
	token        heisen.Record // its Done event
	operation    recorder.Token
	events, left int // it has, and they are to come
}

// called is the calls in which an event happens.
type called struct {
	site    heisen.Site
	context heisen.Context
}

// place is a line of a file.
type place struct {
	file string
	line int
}

// Handle implements heisen.Detector.
func (c *causality) Handle(e heisen.Event) {
	r := *heisen.AsRecord(e)
	switch {
	case r.Op != heisen.Done:
	case r.Flags&heisen.HasValue == 0:
		c.token = r
		c.operation, c.events = recorder.TokenOf(&r)
		c.left = c.events
		return
	default:
		c.value(&r)
		return
	}
	switch {
	case c.left > 0:
		c.step(&r)
	case c.inMap(&r):
		r = heisen.Record{Op: heisen.Done, Thread: r.Thread} // so that events keep their numbers
	}
	if r.Flags&recorder.Numbered != 0 {
		r.Value, r.Flags = 0, r.Flags&^recorder.Numbered
	}
	if r.Op != heisen.Read && r.Op != heisen.Write {
		c.end()
		if r.Op.IsAtomic() && !c.locksFile(&r) {
			r.Flags |= heisen.Decides
		}
		c.to.Handle(r.Event())
		return
	}
	line := c.lineOf(r.Site)
	if len(c.group) > 0 && (c.group[0].Thread != r.Thread || c.line != line || !line.Copies && !line.Updates || len(c.group) == maxGroup) {
		c.end()
	}
	c.line, c.done = line, false
	c.group = append(c.group, r)
	for at := r.Object >> pieceBits; at <= (r.Object+heisen.Object(r.Size())-1)>>pieceBits; at++ {
		c.touched[at] = true
	}
}

// maxGroup bounds the accesses of a group. At its end, reads count as decisions that are none.
const maxGroup = 64

// pieceBits is the binary logarithm of the size of the pieces in touched.
const pieceBits = 6

// locksFile makes an atomic operation one of a lock, if it locks a file for writing, or unlocks it, or nothing, if it looks at the
// state before. An operation of a goroutine that has to wait stays what it is: then the object keeps the order of everything.
func (c *causality) locksFile(r *heisen.Record) bool {
	calls := called{r.Site, r.Context}
	writing, known := c.writing[calls]
	if !known {
		for _, frame := range c.symbols.Stack(r.Site, r.Context) {
			writing = writing || frame.Func == "internal/poll.(*FD).writeLock" || frame.Func == "internal/poll.(*FD).writeUnlock"
		}
		c.writing[calls] = writing
	}
	if !writing {
		return false
	}
	owner, held := c.writers[r.Object]
	switch {
	case r.Op == heisen.AtomicRead:
		r.Op = heisen.Done
	case !held:
		c.writers[r.Object] = r.Thread
		r.Op = heisen.Acquire
	case owner == r.Thread:
		delete(c.writers, r.Object)
		r.Op = heisen.Release
	default:
		return false
	}
	return true
}

// inMap reports whether a record is an allocation, of new memory, by an insertion into a map.
func (c *causality) inMap(r *heisen.Record) bool {
	if r.Op != heisen.Alloc || c.done || len(c.group) == 0 {
		return false
	}
	if last := &c.group[len(c.group)-1]; last.Op != heisen.Write || last.Thread != r.Thread || c.lineOf(r.Site) != c.line {
		return false
	}
	for at := r.Object >> pieceBits; at <= (r.Object+heisen.Object(max(r.Value, 1))-1)>>pieceBits; at++ {
		if c.touched[at] {
			return false
		}
	}
	return true
}

// parts are the events of an operation on a channel, by their number.
var parts = map[int][]heisen.Op{2: {heisen.Receive, heisen.Send}, 4: {heisen.Receive, heisen.Observe, heisen.Change, heisen.Send}}

// step changes an event of the operation on a channel.
func (c *causality) step(r *heisen.Record) {
	at := c.events - c.left
	if r.Thread != c.token.Thread || r.Op != parts[c.events][at] {
		c.left = 0
		return
	}
	first := at == 0
	c.left--
	switch last := c.left == 0; {
	case first && c.operation == recorder.Put:
		r.Op, r.Object = heisen.Acquire, c.token.Object
	case first && c.operation == recorder.TakenAndRead, last && c.operation == recorder.Put && c.events > 2: // the element
	case last && c.operation != recorder.Put:
		r.Op, r.Object = heisen.Release, c.token.Object
	default:
		r.Op = heisen.Done // so that events keep their numbers
	}
}

// Flush implements heisen.Detector.
func (c *causality) Flush() error {
	c.end()
	return c.to.Flush()
}

// value adds a value to the latest access.
func (c *causality) value(done *heisen.Record) {
	if len(c.group) == 0 {
		return
	}
	r := &c.group[len(c.group)-1]
	if r.Thread != done.Thread || r.Object != done.Object || r.Size() != 1 {
		return
	}
	if c.done = true; c.line.Size > 0 {
		own := ^uint64(0) >> (64 - 8*c.line.Size) // the bytes after the variable are not its own
		r.Value, r.Flags = done.Value&own, r.Flags|heisen.HasValue
	}
}

// end passes on the accesses of the group.
func (c *causality) end() {
	for i := range c.group {
		r := &c.group[i]
		if r.Op == heisen.Read && !c.isFree(r, c.group[i+1:]) {
			r.Flags |= heisen.Decides
		}
		c.to.Handle(r.Event())
	}
	c.group = c.group[:0]
}

// isFree reports whether nothing but a write among later depends on a read. When the instruction comes again, it is another
// execution of the line.
func (c *causality) isFree(r *heisen.Record, later []heisen.Record) bool {
	for i := range later {
		w := &later[i]
		switch {
		case w.Op == heisen.Write && (c.line.Copies || c.line.Updates && r.Size() == 1 && w.Object == r.Object):
			return true
		case w.Site == r.Site:
			return false
		}
	}
	return false
}

// newCausality returns a causality that passes events on to a detector.
func newCausality(lines *readuse.Lines, symbols *heisen.Symbols, to heisen.Detector) *causality {
	return &causality{lines: lines, symbols: symbols, to: to, byPlace: map[place]*readuse.Line{}, touched: map[heisen.Object]bool{},
		writing: map[called]bool{}, writers: map[heisen.Object]heisen.Thread{}}
}

// lineOf returns the line of a site.
func (c *causality) lineOf(site heisen.Site) *readuse.Line {
	if int(site) >= len(c.bySite) {
		c.bySite = append(c.bySite, make([]*readuse.Line, int(site)+1-len(c.bySite))...)
	}
	if c.bySite[site] == nil {
		at := place{}
		if frames := c.symbols.Site(site).Frames; len(frames) > 0 {
			at = place{frames[0].File, frames[0].Line}
		}
		line := c.byPlace[at]
		if line == nil {
			known := c.lines.At(at.file, at.line)
			line = &known
			c.byPlace[at] = line
		}
		c.bySite[site] = line
	}
	return c.bySite[site]
}
