package trace

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/heisen-go/heisen"
)

const (
	// MaxThreads bounds the thread numbers of a trace, so that a table that is indexed by Thread
	// fits into memory whatever the trace contains. Readers and writers refuse larger numbers.
	MaxThreads = 1 << 24

	// byteOrderMark is ignored at the start of a text, because some editors write it.
	byteOrderMark = '\uFEFF'

	// maxLine is the longest line of a text trace, in bytes.
	maxLine = 1 << 20
)

// A release out of order takes a step, and possibly memory, for each lock that the thread holds.
// Real traces need few such steps. So that a malicious trace cannot use up the memory, the number
// of steps is bounded by the length of the trace.
const (
	freeSteps     = 1 << 20
	stepsPerEvent = 64
)

// STDReader is a heisen.Source that reads a trace in the STD text format. The package documentation
// has the grammar. In steady state, when there are no new threads, objects, sites or contexts, it
// does not allocate, unless it reads on several processors.
type STDReader struct {
	r        io.Reader
	file     string
	buf      []byte // input that is in no block yet is buf[pos:end]; slack bytes follow its length
	pos, end int
	ahead    int        // blocks that other goroutines may scan
	block    *textBlock // the events that come next, or nil
	queue    []*textBlock
	free     []*textBlock
	failed   error // of the input behind the blocks
	line     int   // lines consumed
	sited    bool  // an event has a site
	ended    bool  // the input had ended when it was read last
	open     bool  // the last line consumed had no end yet
	err      error

	symbols     *heisen.Symbols
	threadNames *interner[heisen.Thread]
	threads     []stdThread // by thread number
	ops         *interner[stdOp]
	sites       *interner[heisen.Site]
	objects     namedObjects
	gaps        Gaps

	// The latest acquisition of each hash: what Symbols.Acquire and Symbols.Context say in fewer accesses to memory.
	acquisitions [keptAcquisitions]acquisition

	events uint64
	steps  uint64 // taken by releases out of order
}

// stdThread is the position of a thread.
type stdThread struct {
	cursor heisen.Cursor
	ctx    heisen.Context // of cursor
	held   []heldLock     // in the order of acquisition
	forked bool
}

// heldLock is a lock that a thread holds, and the path of locks below it.
type heldLock struct {
	heisen.HeldLock
	below uint32
}

// acquisition is a step of a thread that takes a lock: from where, and to where. The zero acquisition is none.
type acquisition struct {
	from heisen.Cursor
	lock heisen.HeldLock
	to   uint32 // path of locks
	ctx  heisen.Context
}

// keptAcquisitions is the length of STDReader.acquisitions, a power of two: they stay in the second-level cache.
const keptAcquisitions = 1 << 12

// NewSTDReader returns a reader of the text trace r.
func NewSTDReader(r io.Reader) (*STDReader, error) {
	if r == nil {
		return nil, noReader("trace.NewSTDReader")
	}
	return &STDReader{
		r:           r,
		buf:         newText(blockText),
		symbols:     heisen.NewSymbols(),
		threadNames: newInterner[heisen.Thread](),
		ops:         newInterner[stdOp](),
		sites:       newInterner[heisen.Site](),
		objects:     newNamedObjects(),
	}, nil
}

// Symbols returns the names of what has been read so far. It grows with each call of Next.
func (r *STDReader) Symbols() *heisen.Symbols {
	return r.symbols
}

// Next implements heisen.Source. The error for a line that is no event is a *SyntaxError, and for a
// compressed trace that cannot be unpacked a *CorruptError; both are final. A last line without a newline is
// delivered if it is a whole event, with a site if an event before it has one. Otherwise the error is a
// *TruncatedError. When the input has grown, Next continues, also after io.EOF; if a line that was
// delivered goes on then, that is a *SyntaxError.
func (r *STDReader) Next(batch []heisen.Record) (n int, err error) {
	if len(batch) == 0 && r.r != nil {
		return 0, r.err
	}
	next, err := r.nextRecords(len(batch))
	return copy(batch, next), err
}

// NextBatch implements heisen.BatchSource. Its errors are those of Next.
func (r *STDReader) NextBatch() ([]heisen.Record, error) { return r.nextRecords(batchRecords) }

// batchRecords is how many records NextBatch returns at most.
const batchRecords = 1024

// nextRecords returns the next records, at most so many, in memory of the reader.
func (r *STDReader) nextRecords(most int) ([]heisen.Record, error) {
	if r.r == nil {
		return nil, heisen.ErrZero
	}
	for r.err == nil {
		if r.block == nil {
			if err := r.nextBlock(); err != nil {
				return r.takeLast(err)
			}
		}
		records := r.take(most)
		if r.block.next == len(r.block.records) {
			r.free = append(r.free, r.block)
			r.block = nil
		}
		if len(records) > 0 {
			return records, r.err
		}
	}
	return nil, r.err
}

// moves has a bit for each op whose events change what is known of a thread.
const moves = 1<<heisen.Acquire | 1<<heisen.AcquireShared | 1<<heisen.Release | 1<<heisen.ReleaseShared |
	1<<heisen.Call | 1<<heisen.Return | 1<<heisen.Fork | 1<<heisen.Join

// take returns the next events of the present block, of at most so many lines.
func (r *STDReader) take(most int) []heisen.Record {
	b := r.block
	lines := b.records[b.next:min(len(b.records), b.next+most)]
	events := lines[:0]
	for i := range lines {
		r.line++
		b.next++
		rec, delivered, reason := &lines[i], false, ""
		if rec.Op != heisen.Invalid {
			t := &r.threads[rec.Thread]
			rec.Context = t.ctx
			r.sited = r.sited || rec.Site != 0
			r.events++
			delivered = true
			if moves>>rec.Op&1 != 0 {
				reason = r.step(t, rec)
			}
		} else if rec.Thread == unparsed {
			delivered, reason = r.parse(b.unparsed(rec), rec)
		}
		if reason != "" {
			r.err = r.syntaxError(r.line, reason, b.line(b.next-1))
			break
		}
		if delivered {
			if len(events) < i {
				lines[len(events)] = *rec
			}
			events = lines[:len(events)+1]
		}
	}
	return events
}

// nextBlock makes the next block of whole lines the present one.
func (r *STDReader) nextBlock() error {
	if len(r.queue) == 0 {
		failed := r.failed
		if r.failed = nil; failed == nil {
			failed = r.read()
		}
		if failed != nil {
			return r.fail(failed)
		}
	}
	for r.failed == nil && len(r.queue) <= r.ahead && r.ahead > 0 {
		r.failed = r.read()
	}
	r.block = r.queue[0]
	r.queue = append(r.queue[:0], r.queue[1:]...)
	if r.ahead == 0 {
		r.scan(r.block)
		return nil
	}
	if !r.help(r.block) {
		for _, later := range r.queue {
			if len(r.block.scanned) == 0 {
				r.help(later)
			}
		}
	}
	<-r.block.scanned
	return nil
}

// read appends a block of whole lines to the queue. Its error is that of the input: see fail.
func (r *STDReader) read() error {
	for {
		input := r.buf[r.pos:r.end]
		if eol := bytes.IndexByte(input, '\n'); r.open && eol >= 0 {
			r.pos += eol + 1
			if r.closeLast(input[:eol]); r.err != nil {
				return r.err
			}
			continue
		}
		if last := bytes.LastIndexByte(input, '\n'); last >= 0 && !r.open {
			r.cut(last + 1)
			return nil
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// cut makes a block of n bytes of the input, and appends it to the queue.
func (r *STDReader) cut(n int) {
	var b *textBlock
	if last := len(r.free) - 1; last >= 0 {
		b, r.free = r.free[last], r.free[:last]
	} else {
		b = &textBlock{buf: newText(blockText), scanned: make(chan struct{}, 1)}
	}
	b.text = r.buf[r.pos : r.pos+n]
	rest := r.buf[r.pos+n : r.end]
	if len(rest) >= len(b.buf) {
		b.buf = newText(2 * len(rest))
	}
	b.buf, r.buf = r.buf, b.buf
	r.pos, r.end = 0, copy(r.buf, rest)
	r.queue = append(r.queue, b)
	if r.ahead > 0 {
		r.start(b)
	}
}

// takeLast consumes what follows the last newline of an input that has ended, if it is a whole line. err is
// the error if it is not.
func (r *STDReader) takeLast(err error) ([]heisen.Record, error) {
	line := r.buf[r.pos:r.end]
	if !r.ended || r.open || len(line) == 0 || !r.whole(line) {
		return nil, err
	}
	r.line++
	var last [1]heisen.Record
	delivered, reason := r.parse(line, &last[0])
	if reason != "" {
		r.line--
		return nil, err
	}
	r.pos, r.open = r.end, true
	if !delivered {
		return nil, io.EOF
	}
	return last[:], nil
}

// whole reports whether a line has as many fields as the others, none of which is empty.
func (r *STDReader) whole(line []byte) bool {
	_, fields, _ := bytes.Cut(line, []byte("|"))
	_, site, found := bytes.Cut(fields, []byte("|"))
	return len(site) > 0 || !found && !r.sited
}

// closeLast takes the end of the last line, which was consumed before it had one.
func (r *STDReader) closeLast(rest []byte) {
	r.open = false
	if len(bytes.TrimRight(rest, "\r")) > 0 {
		r.err = r.syntaxError(r.line, "the trace had ended before", rest)
	}
}

func (r *STDReader) syntaxError(line int, reason string, text []byte) error {
	return &SyntaxError{r.file, line, reason, string(text[:min(len(text), maxQuoted)])}
}

// Gaps returns what the recording leaves out. If nothing of the trace has been read yet, Gaps reads its beginning; Next reports
// what is wrong with that.
func (r *STDReader) Gaps() Gaps {
	for r.r != nil && r.err == nil && r.events == 0 && r.block == nil && len(r.queue) == 0 && !r.open {
		eol := bytes.IndexByte(r.buf[r.pos:r.end], '\n')
		if eol < 0 {
			if err := r.fill(); err != nil {
				r.fail(err)
				break
			}
			continue
		}
		line := r.buf[r.pos : r.pos+eol]
		if _, op, _ := bytes.Cut(line, []byte("|")); !bytes.HasPrefix(op, []byte(gapWord+"(")) {
			break
		}
		r.pos += eol + 1
		r.line++
		if _, reason := r.parse(line, new(heisen.Record)); reason != "" {
			r.err = r.syntaxError(r.line, reason, line)
		}
	}
	return r.gaps.clone()
}

// errLongLine is the error of fill for a line that is longer than maxLine.
var errLongLine = fmt.Errorf("more than %d bytes", maxLine)

// fill appends input to the unread one. Its error is that of the input, io.EOF at the end.
func (r *STDReader) fill() error {
	if r.pos > 0 {
		r.end = copy(r.buf, r.buf[r.pos:r.end])
		r.pos = 0
	}
	if r.end == len(r.buf) {
		if len(r.buf) > maxLine {
			return errLongLine
		}
		longer := newText(2 * len(r.buf))
		copy(longer, r.buf)
		r.buf = longer
	}
	n, err := readSome(r.r, r.buf[r.end:])
	r.end += n
	r.ended = err == io.EOF
	return err
}

// fail returns the error for one of the input behind the lines that have been consumed. That is final unless the input has ended.
func (r *STDReader) fail(err error) error {
	switch {
	case r.err != nil:
	case err == io.ErrUnexpectedEOF || err == io.EOF && r.end > r.pos:
		return &TruncatedError{File: r.file, Line: r.line + 1}
	case err == io.EOF:
		return io.EOF
	case err == errLongLine:
		r.err = r.syntaxError(r.line+1, err.Error(), r.buf[:maxQuoted])
	case isDamage(err):
		r.err = &CorruptError{File: r.file, Line: r.line + 1, Reason: unpacking, Err: err}
	default:
		r.err = fmt.Errorf("%sreading trace: %w", r.position(), err)
	}
	return r.err
}

// position is where the reader is, as errors begin.
func (r *STDReader) position() string { return position(r.file, r.line+1) }

// parse reads one line into rec. It reports whether the line is an event. If the line is neither an
// event nor one that the reader ignores, reason says why.
func (r *STDReader) parse(line []byte, rec *heisen.Record) (delivered bool, reason string) {
	for len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	if r.line == 1 {
		line = bytes.TrimPrefix(line, []byte(string(byteOrderMark)))
	}
	bar := bytes.IndexByte(line, '|')
	if bar < 0 {
		if len(bytes.TrimSpace(line)) == 0 {
			return false, ""
		}
		return false, "no | after the thread"
	}
	tid, reason := r.thread(line[:bar])
	if reason != "" {
		return false, reason
	}

	text, site := line[bar+1:], []byte(nil)
	if bar := bytes.IndexByte(text, '|'); bar >= 0 {
		text, site = text[:bar], text[bar+1:]
	}
	op, value, flags, reason := r.operation(text)
	if reason != "" || op.code == heisen.Invalid {
		return false, reason
	}
	r.sited = r.sited || len(site) > 0
	t := &r.threads[tid]
	*rec = heisen.Record{
		Object: op.obj, Value: op.val | value, Thread: tid, Site: r.site(site), Context: t.ctx,
		Len: op.len, Op: op.code, Flags: flags,
	}
	r.events++
	return true, r.step(t, rec)
}

// operation reads the middle field of a line: an operation, which is looked up as a whole, and a
// value, which is parsed.
func (r *STDReader) operation(text []byte) (op stdOp, value uint64, flags heisen.Flags, reason string) {
	text, value, flags, reason = cutValue(text)
	if reason != "" {
		return op, 0, 0, reason
	}
	if known := r.ops.find(text); known != nil {
		op = *known
	} else {
		if op, reason = r.parseOp(text); reason != "" {
			return op, 0, 0, reason
		}
		if op.code != heisen.Fork && op.code != heisen.Join { // these stand once or twice in a trace
			r.ops.add(text, op)
		}
	}
	if flags != 0 && !hasLength(op.code) {
		return op, 0, 0, "value of an operation that has none"
	}
	return op, value, flags, ""
}

// cutValue cuts a value off the end of an operation. If what follows the equals sign is none, reason says so.
func cutValue(text []byte) (op []byte, value uint64, flags heisen.Flags, reason string) {
	if last := len(text) - 1; last > 0 && text[last] != ')' {
		if i := bytes.IndexByte(text, ')'); i >= 0 && text[i+1] == '=' && !bytes.HasPrefix(text, hideWord) {
			value, ok := parseNumber(text[i+2:])
			if !ok {
				return text, 0, 0, "bad value after ="
			}
			return text[:i+1], value, heisen.HasValue, ""
		}
	}
	return text, 0, 0, ""
}

// site returns the number of the site with the given text, and 0 for an empty text.
func (r *STDReader) site(text []byte) heisen.Site {
	if len(text) == 0 {
		return 0
	}
	if known := r.sites.find(text); known != nil {
		return *known
	}
	site := r.symbols.AddSite(heisen.SiteInfo{Text: string(text)})
	r.sites.add(text, site)
	return site
}

// thread returns the number of the thread called name. If there can be none, reason says why.
func (r *STDReader) thread(name []byte) (t heisen.Thread, reason string) {
	if known := r.threadNames.find(name); known != nil {
		return *known, ""
	}
	switch {
	case len(name) == 0:
		return 0, "empty thread"
	case bytes.ContainsAny(name, "()"):
		return 0, "parenthesis within a name"
	case len(r.threads) == MaxThreads:
		return 0, "too many threads"
	}
	t = heisen.Thread(len(r.threads))
	r.threadNames.add(name, t)
	r.threads = append(r.threads, stdThread{})
	r.symbols.SetThread(t, heisen.ThreadInfo{Name: string(name)})
	return t, ""
}

// step updates the position of the thread t after its event rec.
func (r *STDReader) step(t *stdThread, rec *heisen.Record) (reason string) {
	switch rec.Op {
	case heisen.Acquire, heisen.AcquireShared:
		shared := rec.Op == heisen.AcquireShared
		lock := heisen.HeldLock{Lock: rec.Object, Shared: shared, Site: rec.Site}
		t.held = append(t.held, heldLock{lock, t.cursor.Locks})
		t.cursor, t.ctx = r.acquire(t.cursor, lock)
		return ""
	case heisen.Release, heisen.ReleaseShared:
		return r.released(t, rec.Object, rec.Op == heisen.ReleaseShared)
	case heisen.Call:
		t.cursor = r.symbols.Call(t.cursor, rec.Site)
	case heisen.Return:
		t.cursor = r.symbols.Return(t.cursor)
	case heisen.Fork:
		child := &r.threads[rec.Object.Thread()]
		if !child.forked {
			child.forked = true
			info := r.symbols.Thread(rec.Object.Thread())
			info.Forked, info.Parent, info.Site, info.Context = true, rec.Thread, rec.Site, rec.Context
			r.symbols.SetThread(rec.Object.Thread(), info)
		}
		return ""
	case heisen.Join:
		if ended := &r.threads[rec.Object.Thread()]; len(ended.held) == 0 {
			ended.held = nil // there may be millions of threads
		}
		return ""
	default:
		return ""
	}
	t.ctx = r.symbols.Context(t.cursor)
	return ""
}

// acquire returns the path of locks of a thread that was at c and has acquired a lock, and its context.
func (r *STDReader) acquire(c heisen.Cursor, lock heisen.HeldLock) (heisen.Cursor, heisen.Context) {
	h := (uint64(lock.Lock)^uint64(lock.Site)<<40^uint64(c.Locks)<<20)*0x9e3779b97f4a7c15 ^ uint64(c.Calls)*0xff51afd7ed558ccd
	known := &r.acquisitions[h>>32%keptAcquisitions]
	if known.ctx == 0 || known.from != c || known.lock != lock {
		to := r.symbols.Acquire(c, lock)
		*known = acquisition{c, lock, to.Locks, r.symbols.Context(to)}
		if r.symbols.LimitPassed() {
			known.ctx = 0 // what is left out now may have its place another time
			return to, r.symbols.Context(to)
		}
	}
	return heisen.Cursor{Calls: c.Calls, Locks: known.to}, known.ctx
}

// released ends t's latest hold of lock, or, since any goroutine may unlock a Go mutex, that of the first
// thread that holds it. The release of a lock that nobody holds changes nothing; the Validator reports it.
func (r *STDReader) released(t *stdThread, lock heisen.Object, shared bool) (reason string) {
	held, reason := r.release(t, lock, shared)
	if held || reason != "" {
		return reason
	}
	if r.steps+uint64(len(r.threads)) > freeSteps+stepsPerEvent*r.events {
		return "" // there are hundreds of threads, and most events are such releases
	}
	r.steps += uint64(len(r.threads))
	for i := range r.threads {
		if held, reason = r.release(&r.threads[i], lock, shared); held || reason != "" {
			return reason
		}
	}
	return ""
}

// release ends t's latest hold of lock. It reports whether there was one.
func (r *STDReader) release(t *stdThread, lock heisen.Object, shared bool) (held bool, reason string) {
	last := len(t.held) - 1
	at := last
	for at >= 0 && (t.held[at].Lock != lock || t.held[at].Shared != shared) {
		at--
	}
	if at < last {
		if r.steps += uint64(len(t.held)); r.steps > freeSteps+stepsPerEvent*r.events {
			return false, "too many locks are held and released out of order"
		}
	}
	if at < 0 {
		return false, ""
	}
	t.cursor.Locks = t.held[at].below
	t.held = slices.Delete(t.held, at, at+1)
	for i := at; i < last; i++ {
		t.held[i].below = t.cursor.Locks
		t.cursor = r.symbols.Acquire(t.cursor, t.held[i].HeldLock)
	}
	t.ctx = r.symbols.Context(t.cursor)
	return true, ""
}

// readSome returns either at least one byte or an error. A reader that repeatedly returns neither
// is an error.
func readSome(r io.Reader, buf []byte) (int, error) {
	for range 100 {
		n, err := r.Read(buf)
		if n > 0 {
			return n, nil // the reader will repeat its error
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}
