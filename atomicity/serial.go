package atomicity

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Serial reports transactions that were not serializable in the observed execution: the events of
// other threads that came between theirs cannot be moved before or after them. Its findings have
// Detector "serial" and Kind heisen.Atomicity. The zero Serial is ready to use and discards its
// findings.
//
// # Serializability
//
// Two events conflict if exchanging them could change the execution:
//
//   - they are by the same thread;
//   - they access a common byte in the same allocation epoch, plainly or atomically, and one of them
//     writes;
//   - a release of a lock and a later acquisition of it, unless both are for reading; and an Acquire
//     and the Release by another thread that ends it;
//   - a Send and a later Receive of the same message;
//   - a Fork and the events of the new thread, the events of a thread and its Join.
//
// The transactions form a graph, in which an event outside of transactions is a transaction of its
// own: there is an edge from one to another if an event of the first conflicts with a later event of
// the second. The execution is conflict-serializable, which means that exchanging neighboring events
// that do not conflict leads to an execution in which no transaction is interrupted, if and only if
// the graph has no cycle.
//
// # Guarantees
//
// Serial counts a violation at the first event that closes a cycle, if there is one. Every violation
// is a cycle of the graph: there is no false alarm, if the stream contains all conflicts. Serial then
// continues without the edge that closed the cycle, and finds cycles of the other edges.
// Synchronization that is missing from the stream, such as that of hidden calls, can only cause
// violations to be missed, except with WithDataOnly. The same holds for Change and Observe, which conflict
// with nothing. With WithOperations, an atomic operation of a library is on no cycle of its own.
//
// # Who has asked
//
// What a cycle means for the program is another question. A transaction that waits for an answer of another
// goroutine is on one, and so is one that releases a lock and takes it again, if another thread had the lock in
// between, whatever it did with it. So the message says "it synchronizes with them" if the cycle
//
//   - returns by synchronization and not by an access, or
//   - is one of a question and an answer: the other thread's event to which the cycle goes follows, by messages,
//     Fork and Join, some event of the transaction, and the event to which the cycle returns follows the one from
//     which it does.
//
// WithDataOnly leaves such cycles out, and counts as questions and answers what locks and atomic accesses order,
// too. It also leaves out cycles that go from the transaction, or return to it, between two atomic accesses: these are
// synchronization. What it reports needs a data race: an execution without any has no finding.
//
// # Findings
//
// A transaction that is on a cycle is reported when it ends, or at the end of the stream: with the first cycle
// that is not of the transaction's asking, or else the first that returns to an access, or else the first. The accesses of a finding, in
// the order of the stream: the event that began the transaction; the first event of the transaction
// from which the cycle goes on, and the event of the other thread that conflicts with it; the event
// with which the cycle returns, and the event of the transaction that conflicts with this one, which
// is the latest. An event that has two of these roles is listed once. Their order in the stream is
// that of the list, unless the cycle returns from an event before the one to which it went. The
// object is that of the latest event. There is one finding for each combination of their sites.
//
// # Algorithm
//
// The algorithm is the idea of AeroDrome (Mathur and Viswanathan, "Atomicity Checking in Linear Time
// using Vector Clocks", ASPLOS 2020): for each transaction and variable, store which transactions
// are before it. A cycle can only be closed by an event of an open transaction. So a transaction
// that has ended, and that no open one is before, has no part in any later cycle, and of a vector
// clock only the times of open transactions matter: a set of open transactions. The set of an open
// transaction also contains, at all times, what is before its members. When a transaction ends, the
// sets that contain it get its own set in its place.
//
// # Cost
//
// An access that repeats one of the same transaction takes a few nanoseconds. Any other event takes
// a step for each open transaction before it, and a write a step for each thread that has read the
// variable since the last write. Memory is 90 bytes per accessed word and 64 per further reader. In
// steady state nothing is allocated.
type Serial struct {
	sink   heisen.Sink
	intake intake.Check
	events uint64

	bounds  transactions
	same    operations
	config  config                        // what else it says
	threads *shadow.Memory[*serialThread] // nil before the first event of a zero Serial
	last    *serialThread
	ended   []heisen.Thread // those that ended and are not dropped
	pruneAt int             // length of ended at which those that can be dropped are

	variables *shadow.Memory[variable]
	locks     *shadow.Memory[serialLock]
	messages  *shadow.Memory[message]
	atomics   *shadow.Memory[news] // with WithDataOnly, what the writes tell

	graph      graph
	reported   map[[5]heisen.Site]struct{}
	violations uint64
}

// serialThread is a thread of a Serial.
type serialThread struct {
	id   heisen.Thread
	node *node // of the open transaction, or what is before the thread's next event
	open *openTransaction
	news news
}

// message has the sends with which later receives conflict, and what they tell.
type message struct {
	sent points
	news news
}

// variable has the accesses with which later ones may conflict.
type variable struct {
	write point
	reads points // since the write
}

// serialLock has the operations of a lock with which later ones may conflict.
type serialLock struct {
	acquired point // the latest Acquire
	released point // the latest Release
	readers  points
	// With WithDataOnly, what these tell.
	news, shared news
}

// NewSerial returns a Serial for one stream. The error wraps heisen.ErrOption.
func NewSerial(opts ...Option) (*Serial, error) {
	c, err := newConfig("atomicity.NewSerial", opts)
	if err != nil {
		return nil, err
	}
	d := new(Serial)
	d.init(c)
	return d, nil
}

func (d *Serial) init(c config) {
	d.sink, d.bounds, d.same, d.config = c.sink, newTransactions(c), c.operation, c
	d.threads = shadow.New[*serialThread](nil, nil)
	d.variables = shadow.New(
		func(v *variable) { v.write.keep(); v.reads.clone() },
		func(v *variable) { v.write.clear(&d.graph); v.reads.clear(&d.graph) })
	d.locks = shadow.New(
		func(l *serialLock) {
			l.acquired.keep()
			l.released.keep()
			l.readers.clone()
			l.news, l.shared = slices.Clone(l.news), slices.Clone(l.shared)
		},
		func(l *serialLock) {
			l.acquired.clear(&d.graph)
			l.released.clear(&d.graph)
			l.readers.clear(&d.graph)
			l.news, l.shared = l.news[:0], l.shared[:0]
		})
	d.messages = shadow.New(
		func(m *message) { m.sent.clone(); m.news = slices.Clone(m.news) },
		func(m *message) { m.sent.clear(&d.graph); m.news = m.news[:0] })
	d.atomics = shadow.New(func(n *news) { *n = slices.Clone(*n) }, func(n *news) { *n = (*n)[:0] })
	d.reported = map[[5]heisen.Site]struct{}{}
}

// ensureInit makes a zero Serial usable.
func (d *Serial) ensureInit() {
	if d.threads == nil {
		d.init(defaults())
	}
}

// Handle implements heisen.Detector.
func (d *Serial) Handle(e heisen.Event) {
	d.ensureInit()
	d.handle(heisen.AsRecord(e))
}

// HandleRecords implements heisen.RecordHandler.
func (d *Serial) HandleRecords(batch []heisen.Record) {
	d.ensureInit()
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper. A filter in front of a Serial may cause violations to be missed.
func (d *Serial) Skip(events uint64) {
	d.events += events
}

// Flush implements heisen.Detector. It reports the transactions that have not ended. Its errors are those
// that heisen.Detector names.
func (d *Serial) Flush() error {
	for _, t := range d.graph.open {
		if t != nil {
			d.report(t)
		}
	}
	return d.intake.Flush()
}

// Violations returns how many edges closed a cycle.
func (d *Serial) Violations() uint64 {
	return d.violations
}

func (d *Serial) handle(r *heisen.Record) {
	d.events++
	if !d.intake.Take(r, d.events) {
		return
	}
	if d.config.dataOnly && r.Op.IsAtomic() {
		d.atomic(r)
	}
	switch r.Op {
	case heisen.Read, heisen.AtomicRead:
		d.read(r)
		return
	case heisen.Write, heisen.AtomicWrite, heisen.AtomicUpdate:
		d.write(r)
		return
	}
	if d.bounds.begins(r) {
		d.begin(r)
	}
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared, heisen.Release, heisen.ReleaseShared:
		d.lock(r)
	case heisen.Send:
		d.send(r)
	case heisen.Receive:
		d.receive(r)
	case heisen.Fork:
		d.fork(r)
	case heisen.Join:
		d.join(r)
	case heisen.Alloc, heisen.Free:
		d.variables.Clear(r.Object, r.Value)
		d.locks.Clear(r.Object, r.Value)
		d.messages.Clear(r.Object, r.Value)
		d.atomics.Clear(r.Object, r.Value)
	}
	if id, ended := d.bounds.ended(r); ended {
		if t := d.thread(id); t.open != nil {
			d.report(t.open)
			d.graph.end(t.open)
			t.open = nil
		}
	}
	if r.Op == heisen.End {
		d.end(r.Thread)
	}
}

// thread returns a thread.
func (d *Serial) thread(id heisen.Thread) *serialThread {
	if d.last != nil && d.last.id == id {
		return d.last
	}
	p := d.threads.At(threadKey(id))
	if *p == nil {
		*p = &serialThread{id: id}
	}
	d.last = *p
	return d.last
}

// end drops a thread that has ended, unless a Join of it may matter.
func (d *Serial) end(id heisen.Thread) {
	if d.drop(id) {
		return
	}
	if len(d.ended) >= d.pruneAt {
		d.ended = slices.DeleteFunc(d.ended, d.drop)
		d.pruneAt = max(64, 2*len(d.ended))
	}
	d.ended = append(d.ended, id)
}

// drop drops a thread that no later cycle can have a path through. It reports whether the thread is
// unknown now.
func (d *Serial) drop(id heisen.Thread) bool {
	p := d.threads.Peek(threadKey(id))
	if p == nil || *p == nil {
		return true
	}
	if (*p).node.matters() {
		return false
	}
	d.graph.release((*p).node)
	d.threads.Clear(threadKey(id), 8)
	d.last = nil
	return true
}

func (d *Serial) begin(r *heisen.Record) {
	t := d.thread(r.Thread)
	n := d.graph.newNode(t.node)
	d.graph.release(t.node)
	t.node = n
	n.refs++
	t.open = d.graph.begin(n, heisen.AccessOf(r, d.events))
}

func (d *Serial) read(r *heisen.Record) {
	t := d.thread(r.Thread)
	if r.Len <= 1 {
		v := d.variables.At(r.Object)
		if v.write.node != nil && v.write.node == t.node {
			return // the write conflicts with everything that the read conflicts with
		}
		d.after(t, &v.write, r)
		v.reads.put(&d.graph, t, r, d.events)
		return
	}
	// What is before one byte is before all, so all edges come first.
	for c := d.variables.Range(r.Object, r.Size()); c.Next(); {
		d.after(t, &c.State().write, r)
	}
	for c := d.variables.Range(r.Object, r.Size()); c.Next(); {
		c.State().reads.put(&d.graph, t, r, d.events)
	}
}

func (d *Serial) write(r *heisen.Record) {
	t := d.thread(r.Thread)
	if r.Len <= 1 {
		v := d.variables.At(r.Object)
		if v.write.node != nil && v.write.node == t.node && len(v.reads) == 0 {
			return
		}
		d.after(t, &v.write, r)
		d.afterAll(t, &v.reads, r)
		d.setWrite(t, r, v)
		return
	}
	for c := d.variables.Range(r.Object, r.Size()); c.Next(); {
		v := c.State()
		d.after(t, &v.write, r)
		d.afterAll(t, &v.reads, r)
	}
	for c := d.variables.Range(r.Object, r.Size()); c.Next(); {
		d.setWrite(t, r, c.State())
	}
}

// setWrite records a write after everything that it conflicts with.
func (d *Serial) setWrite(t *serialThread, r *heisen.Record, v *variable) {
	v.reads.clear(&d.graph)
	v.write.set(&d.graph, t, r, d.events)
}

func (d *Serial) send(r *heisen.Record) {
	t, m := d.thread(r.Thread), d.messages.At(r.Object)
	d.tell(t, &m.news)
	if !d.unrelated(r) {
		m.sent.put(&d.graph, t, r, d.events)
	}
}

func (d *Serial) receive(r *heisen.Record) {
	t := d.thread(r.Thread)
	if t.open == nil && d.config.callbacks != nil && d.config.callbacks(r.Thread) {
		d.graph.release(t.node)
		t.node, t.news = nil, t.news[:0]
	}
	if m := d.messages.Peek(r.Object); m != nil {
		d.hear(t, m.news)
		d.afterAll(t, &m.sent, r)
	}
}

// tell adds the current event of t, and what t knows, to the news of others.
func (d *Serial) tell(t *serialThread, to *news) {
	oldest, some := d.graph.oldest()
	if !some {
		*to = (*to)[:0]
		return
	}
	to.learn(t.news, oldest)
	to.add(t.id, d.events)
}

// hear lets t know the news.
func (d *Serial) hear(t *serialThread, from news) {
	oldest, some := d.graph.oldest()
	if !some {
		t.news = t.news[:0]
		return
	}
	t.news.learn(from, oldest)
}

// carries reports whether a cycle may leave or come back to a transaction by the edge from a point to r.
func (d *Serial) carries(from *point, r *heisen.Record) bool {
	return !d.config.dataOnly || r.Op.IsAccess() && !(r.Op.IsAtomic() && from.access.Op.IsAtomic())
}

// unrelated reports whether r conflicts with nothing.
func (d *Serial) unrelated(r *heisen.Record) bool {
	return d.config.unrelated != nil && d.config.unrelated(heisen.AccessOf(r, d.events))
}

func (d *Serial) lock(r *heisen.Record) {
	t, l := d.thread(r.Thread), d.locks.At(r.Object)
	if d.config.dataOnly {
		d.pass(t, l, r)
		return
	}
	switch r.Op {
	case heisen.Acquire:
		d.after(t, &l.released, r)
		d.afterAll(t, &l.readers, r)
		l.acquired.set(&d.graph, t, r, d.events)
	case heisen.AcquireShared:
		d.after(t, &l.released, r)
	case heisen.Release:
		if l.acquired.node != nil && l.acquired.access.Thread != t.id {
			d.after(t, &l.acquired, r)
		}
		l.released.set(&d.graph, t, r, d.events)
		l.readers.clear(&d.graph)
	case heisen.ReleaseShared:
		l.readers.put(&d.graph, t, r, d.events)
	}
}

// pass passes news on by a lock.
func (d *Serial) pass(t *serialThread, l *serialLock, r *heisen.Record) {
	switch r.Op {
	case heisen.Acquire:
		d.hear(t, l.news)
		d.hear(t, l.shared)
	case heisen.AcquireShared:
		d.hear(t, l.news)
	case heisen.Release:
		d.tell(t, &l.news)
	case heisen.ReleaseShared:
		d.tell(t, &l.shared)
	}
}

// atomic passes news on by an atomic access.
func (d *Serial) atomic(r *heisen.Record) {
	t := d.thread(r.Thread)
	if r.Op != heisen.AtomicWrite {
		if n := d.atomics.Peek(r.Object); n != nil {
			d.hear(t, *n)
		}
	}
	if r.Op.IsWrite() {
		d.tell(t, d.atomics.At(r.Object))
	}
}

func (d *Serial) fork(r *heisen.Record) {
	id := r.Object.Thread()
	if heisen.Object(id) != r.Object || id == r.Thread {
		return
	}
	from := pointOf(d.thread(r.Thread), r, d.events)
	from.keep()
	first := *r
	first.Op, first.Thread = heisen.Begin, id
	d.tell(d.thread(r.Thread), &d.thread(id).news)
	d.after(d.thread(id), &from, &first)
	from.clear(&d.graph)
}

func (d *Serial) join(r *heisen.Record) {
	id := r.Object.Thread()
	if heisen.Object(id) != r.Object || id == r.Thread {
		return
	}
	if p := d.threads.Peek(threadKey(id)); p == nil || *p == nil {
		return
	}
	last := *r
	last.Op, last.Thread = heisen.End, id
	d.tell(d.thread(id), &d.thread(r.Thread).news)
	from := pointOf(d.thread(id), &last, d.events)
	from.keep()
	d.after(d.thread(r.Thread), &from, r)
	from.clear(&d.graph)
}

// afterAll adds the edges from the points to r, an event of t.
func (d *Serial) afterAll(t *serialThread, from *points, r *heisen.Record) {
	for i := range *from {
		d.after(t, &(*from)[i], r)
	}
}

// after adds the edge from a point to r, an event of t, or reports the cycle that it closes.
func (d *Serial) after(t *serialThread, from *point, r *heisen.Record) {
	if !from.node.matters() || from.node == t.node {
		return
	}
	if d.config.unrelated != nil && (d.config.unrelated(from.access) || d.unrelated(r)) {
		return
	}
	if t.open == nil && (t.node == nil || t.node.refs > 1) { // others refer to an earlier event of t
		n := d.graph.newNode(t.node)
		d.graph.release(t.node)
		t.node = n
		n.refs++
		d.graph.enlist(n)
	}
	carries := d.carries(from, r)
	at, closed := d.graph.connect(from, t.node, t.open, r, d.events, t.news, carries)
	if !closed || !carries {
		return
	}
	c := cycle{t.open.departures[at], edge{from.access, heisen.AccessOf(r, d.events), t.news.since(from.access.Thread, from.access.Index)}}
	if d.same.one(&c.out.source, &c.back.target) || d.config.dataOnly && !c.byData() {
		return
	}
	d.violations++
	t.open.returns(c)
}

// report reports the cycle of a transaction, if there is one.
func (d *Serial) report(t *openTransaction) {
	if !t.closed {
		return
	}
	c := &t.cycle
	key := [5]heisen.Site{t.begin.Site, c.out.source.Site, c.out.target.Site, c.back.source.Site, c.back.target.Site}
	if _, known := d.reported[key]; known {
		return
	}
	d.reported[key] = struct{}{}
	accesses := []heisen.Access{t.begin, c.out.source, c.out.target, c.back.source, c.back.target}
	slices.SortStableFunc(accesses, func(a, b heisen.Access) int { return cmp.Compare(a.Index, b.Index) })
	accesses = slices.CompactFunc(accesses, func(a, b heisen.Access) bool {
		return a.Index == b.Index && a.Thread == b.Thread
	})
	message := "a transaction is not serializable: other threads' events come after one of its events and before a later one"
	if !c.byData() {
		message += "; it synchronizes with them, which is a bug only if the transaction must be atomic"
	}
	d.sink(heisen.Finding{
		Detector: "serial",
		Kind:     heisen.Atomicity,
		Object:   c.back.target.Object,
		Message:  message,
		Accesses: accesses,
	})
}
