package syncp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/heisen-go/heisen"
)

// log has the events of the stream that matter to witnesses, some bytes each, in blocks. Old blocks go to a file
// when the memory for blocks is used up.
type log struct {
	blocks []block
	events uint64 // in the log
	last   uint64 // position of the latest event in the stream

	shapes  []shape // by number
	numbers map[shape]uint32
	recent  [1 << 10]struct {
		shape  shape
		number uint32
	}
	coder coder

	memory, limit int // bytes of the blocks in memory
	next          int // the first block that is not in the file
	dir           string
	file          *os.File // nil until it is needed
	written       int64
	err           error // of the file
}

// block is blockEvents successive events; the last block may have fewer.
type block struct {
	data     []byte // nil if it is in the file
	offset   int64
	size     int
	position uint64 // of the event before the first one in the stream
}

const blockEvents = 1 << 12

// blockStart says how many events of a thread come before a block that has one of it.
type blockStart struct {
	block, before uint32
}

// shape is what the records of many events have in common.
type shape struct {
	site    heisen.Site
	context heisen.Context
	len     uint16
	op      heisen.Op
	flags   heisen.Flags
}

// coder is the state of coding a block: what the record before has told.
type coder struct {
	thread  heisen.Thread
	objects [64]heisen.Object // the latest ones, by shape
}

// Bits of the first byte of an event in a block. The others are the low bits of the number of its shape.
const (
	newThread = 1 << 7
	hasValue  = 1 << 6
	hasGap    = 1 << 5

	shapeBits = 5
	shapeMask = 1<<shapeBits - 1
)

// number returns the number of a shape.
func (l *log) number(s shape) uint32 {
	c := &l.recent[(uint32(s.site)*31+uint32(s.context)*7+uint32(s.op))%uint32(len(l.recent))]
	if c.shape == s && c.number > 0 {
		return c.number - 1
	}
	n, ok := l.numbers[s]
	if !ok {
		n = uint32(len(l.shapes))
		l.shapes = append(l.shapes, s)
		l.numbers[s] = n
	}
	c.shape, c.number = s, n+1
	return n
}

// add adds the next event of a thread, at a position of the stream.
func (l *log) add(t *thread, r *heisen.Record, position uint64) {
	if l.events%blockEvents == 0 {
		l.blocks = append(l.blocks, block{data: make([]byte, 0, 6*blockEvents), position: position - 1})
		l.last, l.coder = position-1, coder{}
	}
	at := uint32(len(l.blocks) - 1)
	if n := len(t.blocks); n == 0 || t.blocks[n-1].block != at {
		t.blocks = append(t.blocks, blockStart{at, t.events})
	}
	b := &l.blocks[at]
	b.data = l.encode(b.data, r, position-l.last-1)
	l.events++
	l.last = position
}

func (l *log) encode(to []byte, r *heisen.Record, gap uint64) []byte {
	c := &l.coder
	n := l.number(shape{r.Site, r.Context, r.Len, r.Op, r.Flags})
	first := byte(n & shapeMask)
	if r.Thread != c.thread {
		first |= newThread
	}
	if r.Value != 0 {
		first |= hasValue
	}
	if gap > 0 {
		first |= hasGap
	}
	to = append(to, first)
	to = binary.AppendUvarint(to, uint64(n>>shapeBits))
	before := &c.objects[n%uint32(len(c.objects))]
	to = binary.AppendVarint(to, int64(r.Object-*before))
	*before = r.Object
	if r.Thread != c.thread {
		to = binary.AppendUvarint(to, uint64(r.Thread))
		c.thread = r.Thread
	}
	if r.Value != 0 {
		to = binary.AppendUvarint(to, r.Value)
	}
	if gap > 0 {
		to = binary.AppendUvarint(to, gap)
	}
	return to
}

// logPart is the part of the memory that the log may take before it goes to a file.
const logPart = 4

// seal accounts for the last block, which is complete, and moves blocks to the file if there are too many.
func (l *log) seal() {
	if len(l.blocks) == 0 {
		return
	}
	b := &l.blocks[len(l.blocks)-1]
	b.size = len(b.data)
	l.memory += cap(b.data)
	for l.memory > l.limit && l.next < len(l.blocks) && l.dir != "" && l.err == nil {
		l.err = l.spill(&l.blocks[l.next])
		l.next++
	}
}

// spill moves a block to the file.
func (l *log) spill(b *block) (err error) {
	if l.file == nil {
		if l.file, err = os.CreateTemp(l.dir, "heisen-syncp-*"); err != nil {
			return err
		}
	}
	if _, err := l.file.Write(b.data); err != nil {
		return err
	}
	l.memory -= cap(b.data)
	b.data, b.offset = nil, l.written
	l.written += int64(b.size)
	return nil
}

// close removes the file.
func (l *log) close() error {
	if l.file == nil {
		return nil
	}
	name := l.file.Name()
	return errors.Join(l.file.Close(), os.Remove(name))
}

// errLog is the error of a block that cannot be decoded.
var errLog = errors.New("the log is damaged")

// read appends the events from one number to another, in the order of the log, with their positions in the stream.
func (l *log) read(from, to uint64, records []heisen.Record, positions []uint64) ([]heisen.Record, []uint64, error) {
	for k := from / blockEvents; k*blockEvents < to; k++ {
		data, err := l.data(int(k))
		if err != nil {
			return records, positions, err
		}
		c, position := coder{}, l.blocks[k].position
		for n := k * blockEvents; len(data) > 0 && n < to; n++ {
			var r heisen.Record
			var gap uint64
			if data, gap, err = l.decode(data, &c, &r); err != nil {
				return records, positions, err
			}
			if position += gap + 1; n >= from {
				records, positions = append(records, r), append(positions, position)
			}
		}
	}
	return records, positions, nil
}

// data returns the bytes of a block.
func (l *log) data(k int) ([]byte, error) {
	b := &l.blocks[k]
	if b.data != nil {
		return b.data, nil
	}
	if l.file == nil {
		return nil, errLog
	}
	data := make([]byte, b.size)
	if _, err := l.file.ReadAt(data, b.offset); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%w: %w", errLog, err)
	}
	return data, nil
}

func (l *log) decode(data []byte, c *coder, r *heisen.Record) (rest []byte, gap uint64, err error) {
	first := data[0]
	data = data[1:]
	next := func() uint64 {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			err, n = errLog, 0
		}
		data = data[n:]
		return v
	}
	n := next()<<shapeBits | uint64(first&shapeMask)
	if n >= uint64(len(l.shapes)) {
		return nil, 0, errLog
	}
	s := &l.shapes[n]
	*r = heisen.Record{Site: s.site, Context: s.context, Len: s.len, Op: s.op, Flags: s.flags}
	delta := next()
	before := &c.objects[n%uint64(len(c.objects))]
	*before += heisen.Object(int64(delta>>1) ^ -int64(delta&1))
	r.Object = *before
	if first&newThread != 0 {
		c.thread = heisen.Thread(next())
	}
	r.Thread = c.thread
	if first&hasValue != 0 {
		r.Value = next()
	}
	if first&hasGap != 0 {
		gap = next()
	}
	return data, gap, err
}

// countsAt returns, by thread, how many of its events come before the event with a number.
func (d *Detector) countsAt(event uint64) ([]uint32, error) {
	counts := make([]uint32, len(d.threads.all))
	k := uint32(event / blockEvents)
	for i, t := range d.threads.all {
		counts[i] = t.events
		if j := sort.Search(len(t.blocks), func(j int) bool { return t.blocks[j].block >= k }); j < len(t.blocks) {
			counts[i] = t.blocks[j].before
		}
	}
	records, _, err := d.log.read(uint64(k)*blockEvents, event, nil, nil)
	for i := range records {
		counts[d.threads.of(records[i].Thread).number]++
	}
	return counts, err
}

// numberOf returns the number, in the log, of the event after a prefix that the log has.
func (d *Detector) numberOf(before prefix) (uint64, error) {
	t := d.threads.all[before.thread]
	j := sort.Search(len(t.blocks), func(j int) bool { return t.blocks[j].before > before.n }) - 1
	if j < 0 {
		return 0, errLog
	}
	start := uint64(t.blocks[j].block) * blockEvents
	records, _, err := d.log.read(start, min(start+blockEvents, d.log.events), nil, nil)
	left := before.n - t.blocks[j].before
	for i := range records {
		if records[i].Thread != t.id {
			continue
		}
		if left == 0 {
			return start + uint64(i), nil
		}
		left--
	}
	if err == nil {
		err = errLog
	}
	return 0, err
}
