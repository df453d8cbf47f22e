package trace

import (
	"encoding/binary"
	"errors"

	"github.com/heisen-go/heisen"
)

// A records block has its records column by column, because a column repeats itself, which the
// compressor would not see in whole records, and because the branches of the decoder are
// predictable. format.md has the layout.

// The control byte of a record: its op and three flags.
const (
	opMask      = 1<<5 - 1
	sameThread  = 1 << 5 // thread as that of the record before
	sameContext = 1 << 6 // context as that of the thread's record before
	hasExtra    = 1 << 7 // flags, length and value follow in the extra column
)

// The op must fit its bits.
var _ [opMask + 1 - heisen.NumOps]struct{}

// predictor guesses the site and the object of a record from the earlier records of the block.
// Writer and reader make the same guesses.
type predictor struct {
	next   [predictorSize]heisen.Site   // the site that last followed a site in its thread
	object [predictorSize]heisen.Object // the object at the last visit of a site by a thread
}

const predictorSize = 1 << 12 // both tables together stay in the first-level cache

// objectSlot returns the index of the guess of the object at site, for the thread with number t in
// the block.
func objectSlot(site heisen.Site, t uint32) uint32 {
	return (uint32(site) ^ t*0x9e5) % predictorSize
}

// threadState is the latest record of a thread in a block.
type threadState struct {
	tid  heisen.Thread
	site heisen.Site    // of its latest record
	ctx  heisen.Context // of its latest record
}

// recordEncoder collects the columns of a records block.
type recordEncoder struct {
	predictor
	index   map[heisen.Thread]uint32 // number in the block
	threads []threadState
	current uint32 // thread of the latest record

	control  []byte // one byte each
	switches []byte // thread numbers
	sites    []byte
	objects  []byte
	contexts []byte
	extras   []byte
}

func newRecordEncoder() *recordEncoder {
	return &recordEncoder{index: map[heisen.Thread]uint32{}}
}

// count returns the number of records collected.
func (e *recordEncoder) count() int { return len(e.control) }

func (e *recordEncoder) reset() {
	e.predictor = predictor{}
	clear(e.index)
	e.threads = e.threads[:0]
	e.current = 0
	e.control, e.switches = e.control[:0], e.switches[:0]
	e.sites, e.objects = e.sites[:0], e.objects[:0]
	e.contexts, e.extras = e.contexts[:0], e.extras[:0]
}

func (e *recordEncoder) add(rec *heisen.Record) {
	control := byte(rec.Op)
	if len(e.threads) > 0 && e.threads[e.current].tid == rec.Thread {
		control |= sameThread
	} else {
		t, ok := e.index[rec.Thread]
		if !ok {
			t = uint32(len(e.threads))
			e.index[rec.Thread] = t
			e.threads = append(e.threads, threadState{tid: rec.Thread})
		}
		e.current = t
		e.switches = binary.AppendUvarint(e.switches, uint64(t))
	}
	t := &e.threads[e.current]

	guess := &e.next[t.site%predictorSize]
	if *guess == rec.Site {
		e.sites = append(e.sites, 0)
	} else {
		e.sites = binary.AppendUvarint(e.sites, 1+zigzag(int64(rec.Site)-int64(t.site)))
		*guess = rec.Site
	}
	t.site = rec.Site

	object := &e.object[objectSlot(rec.Site, e.current)]
	e.objects = binary.AppendUvarint(e.objects, zigzag(int64(rec.Object-*object)))
	*object = rec.Object

	if t.ctx == rec.Context {
		control |= sameContext
	} else {
		e.contexts = binary.AppendUvarint(e.contexts, zigzag(int64(rec.Context)-int64(t.ctx)))
		t.ctx = rec.Context
	}
	if rec.Flags != 0 || rec.Len != 0 || rec.Value != 0 {
		control |= hasExtra
		e.extras = append(e.extras, byte(rec.Flags))
		e.extras = binary.AppendUvarint(e.extras, uint64(rec.Len))
		e.extras = binary.AppendUvarint(e.extras, rec.Value)
	}
	e.control = append(e.control, control)
}

// appendTo appends the block's payload to b.
func (e *recordEncoder) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(e.control)))
	b = binary.AppendUvarint(b, uint64(len(e.threads)))
	for i := range e.threads {
		b = binary.AppendUvarint(b, uint64(e.threads[i].tid))
	}
	columns := [...][]byte{e.switches, e.sites, e.objects, e.contexts, e.extras}
	for _, c := range columns {
		b = binary.AppendUvarint(b, uint64(len(c)))
	}
	b = append(b, e.control...)
	for _, c := range columns {
		b = append(b, c...)
	}
	return b
}

// recordDecoder reads the columns of a records block. Its slices share the memory of the payload.
type recordDecoder struct {
	predictor
	threads []threadState
	current uint32
	sites   uint64 // bounds of the numbers that records may use
	ctxs    uint64
	reaches uint64

	control                                     []byte // of the records still to come
	switches, siteCol, objects, contexts, extra column
}

// column is a column of varints that are still to be read.
type column []byte

var (
	errShort    = errors.New("number missing or too long")
	errLeftOver = errors.New("bytes left over")
)

// next reads a varint, if there is one.
func (c *column) next() (uint64, bool) {
	if b := *c; len(b) > 0 && b[0] < 0x80 {
		*c = b[1:]
		return uint64(b[0]), true
	}
	return c.nextLong()
}

func (c *column) nextLong() (uint64, bool) {
	v, n := binary.Uvarint(*c)
	if n <= 0 {
		return 0, false
	}
	*c = (*c)[n:]
	return v, true
}

// cut removes n bytes from the start of the column, if there are so many.
func (c *column) cut(n uint64) (column, bool) {
	if n > uint64(len(*c)) {
		return nil, false
	}
	head := (*c)[:n:n]
	*c = (*c)[n:]
	return head, true
}

// start begins a block. sites, contexts and reaches bound the numbers that records may refer to;
// reaches is 0 if the Value of a Hide has no meaning, as in version 1.
func (d *recordDecoder) start(payload []byte, sites, contexts, reaches uint64) error {
	d.predictor = predictor{}
	d.threads = d.threads[:0]
	d.current = 0
	d.sites, d.ctxs, d.reaches = sites, contexts, reaches
	d.control = nil

	p := column(payload)
	records, ok := p.next()
	if !ok || records == 0 || records > uint64(len(payload)) {
		return errors.New("bad number of records")
	}
	threads, ok := p.next()
	if !ok || threads == 0 || threads > records {
		return errors.New("bad number of threads")
	}
	for range threads {
		tid, ok := p.next()
		if !ok || tid >= MaxThreads {
			return errors.New("bad thread")
		}
		d.threads = append(d.threads, threadState{tid: heisen.Thread(tid)})
	}
	columns := [...]*column{&d.switches, &d.siteCol, &d.objects, &d.contexts, &d.extra}
	var lengths [len(columns)]uint64
	for i := range lengths {
		if lengths[i], ok = p.next(); !ok {
			return errShort
		}
	}
	control, ok := p.cut(records)
	if !ok {
		return errShort
	}
	for i, c := range columns {
		if *c, ok = p.cut(lengths[i]); !ok {
			return errShort
		}
	}
	if len(p) > 0 {
		return errLeftOver
	}
	d.control = control
	return nil
}

// read decodes records into batch, until batch is full or the block ends.
func (d *recordDecoder) read(batch []heisen.Record) (n int, err error) {
	control := d.control[:min(len(d.control), len(batch))]
	batch = batch[:len(control)]
	for i, c := range control {
		if err := d.decode(c, &batch[i]); err != nil {
			d.control = nil
			return i, err
		}
	}
	d.control = d.control[len(control):]
	if len(d.control) == 0 && len(d.switches)+len(d.siteCol)+len(d.objects)+len(d.contexts)+len(d.extra) > 0 {
		return len(control), errLeftOver
	}
	return len(control), nil
}

func (d *recordDecoder) decode(c byte, rec *heisen.Record) error {
	op := heisen.Op(c & opMask)
	if !op.Valid() {
		return errors.New("bad op")
	}
	if c&sameThread == 0 {
		v, ok := d.switches.next()
		if !ok || v >= uint64(len(d.threads)) {
			return errors.New("bad thread number")
		}
		d.current = uint32(v)
	}
	t := &d.threads[d.current]

	v, ok := d.siteCol.next()
	if !ok {
		return errShort
	}
	guess := &d.next[t.site%predictorSize]
	if v != 0 {
		site := uint64(int64(t.site) + unzigzag(v-1))
		if site >= d.sites {
			return errors.New("bad site")
		}
		*guess = heisen.Site(site)
	}
	t.site = *guess

	if v, ok = d.objects.next(); !ok {
		return errShort
	}
	object := &d.object[objectSlot(t.site, d.current)]
	*object += heisen.Object(unzigzag(v))

	if c&sameContext == 0 {
		if v, ok = d.contexts.next(); !ok {
			return errShort
		}
		ctx := uint64(int64(t.ctx) + unzigzag(v))
		if ctx >= d.ctxs {
			return errors.New("bad context")
		}
		t.ctx = heisen.Context(ctx)
	}
	*rec = heisen.Record{Object: *object, Thread: t.tid, Site: t.site, Context: t.ctx, Op: op}
	if c&hasExtra != 0 {
		if err := d.decodeExtra(rec); err != nil {
			return err
		}
	}
	if op == heisen.Hide && (d.reaches == 0 || !knownReach(rec.Value, d.reaches)) {
		if d.reaches > 0 {
			return errors.New("bad set of objects")
		}
		rec.Value = 0
	}
	if (op == heisen.Fork || op == heisen.Join) && rec.Object >= MaxThreads {
		return errors.New("bad thread")
	}
	return nil
}

func (d *recordDecoder) decodeExtra(rec *heisen.Record) error {
	if len(d.extra) == 0 {
		return errShort
	}
	rec.Flags = heisen.Flags(d.extra[0])
	d.extra = d.extra[1:]
	length, ok := d.extra.next()
	if !ok || length > 1<<16-1 {
		return errors.New("bad length")
	}
	rec.Len = uint16(length)
	if rec.Value, ok = d.extra.next(); !ok {
		return errShort
	}
	return nil
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
