package trace

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/heisen-go/heisen"
)

const (
	// blockText is how much text an STDReader reads at a time. With the records of so much text, it stays in the second-level cache.
	blockText = 32 << 10

	// slack is how many bytes behind its end may be loaded with a text.
	slack = 16
)

// newText returns n bytes with slack behind them.
func newText(n int) []byte { return make([]byte, n, n+slack) }

// A textBlock is some whole lines of a text trace, and for each line its record, as far as names were known: without context, and without
// Op if the line is no event or is left to STDReader.parse. One goroutine has it at a time.
type textBlock struct {
	buf     []byte // memory of text
	text    []byte // with slack behind it
	records []heisen.Record
	next    int // records taken

	claimed atomic.Bool   // some goroutine scans the block, or has done so
	scanned chan struct{} // has an element when that has ended
}

// unparsed returns the line of a record without Op that is left to STDReader.parse.
func (b *textBlock) unparsed(r *heisen.Record) []byte {
	at := uint32(r.Value)
	return b.text[at : uint64(at)+r.Value>>textLength]
}

// line returns the line of the record with the given index.
func (b *textBlock) line(index int) []byte {
	rest := b.text
	for ; index > 0; index-- {
		rest = rest[bytes.IndexByte(rest, '\n')+1:]
	}
	return rest[:bytes.IndexByte(rest, '\n')]
}

// What a Record without Op says of its line: the Value is where it is in the text, and this is in Thread.
const (
	noEvent    = heisen.Thread(iota) // the line is none, and changes nothing
	unparsed                         // it is for STDReader.parse
	textLength = 32                  // shift of the length of the line in Value
)

const (
	everyByte = 0x0101010101010101
	topBits   = 0x8080808080808080
)

// zeroBytes returns a word whose lowest bit that is set is the top bit of the lowest byte of w that is 0. It is 0 if there is none.
func zeroBytes(w uint64) uint64 { return (w - everyByte) &^ w & topBits }

// short returns the first n bytes of two words, at most 15, as pack does.
func short(lo, hi uint64, n int) (uint64, uint64) {
	if n < 8 {
		return lo & (1<<(8*n) - 1), uint64(n+1) << 56
	}
	return lo, hi&(1<<(8*(n-8))-1) | uint64(n+1)<<56
}

// scanned is a line of which scan has found the fields.
type scannedLine struct {
	op, site [2]uint64 // as pack returns them; site is 0 if there is none
	at       uint32    // where the line starts in the text
	record   uint32    // index of its record
}

// scanAtOnce is how many lines scan looks up together, so that the processor can wait for several places in memory at a time.
const scanAtOnce = 32

// scan fills b.records. Several goroutines may scan blocks while another one adds names. What a known name stands for never changes, so
// that it makes no difference when a block is scanned.
func (r *STDReader) scan(b *textBlock) {
	const bars, ends = '|' * everyByte, '\n' * everyByte
	threads := r.threadNames.table.Load()
	b.records, b.next = b.records[:0], 0
	end := len(b.text)
	text := b.text[:end+slack]
	var lines [scanAtOnce]scannedLine
	var lastLo, lastHi uint64 // the thread of the line before
	var last heisen.Thread
	for at := 0; at < end; {
		count := 0 // of lines
		for count < len(lines) && at < end {
			// Here fields have at most 15 bytes. Behind the text there may be anything, but no name has an end of line in it.
			start := at
			l := &lines[count]
			lo, hi := binary.LittleEndian.Uint64(text[at:]), uint64(0)
			stop, n := zeroBytes(lo^bars), 0
			if stop == 0 {
				hi = binary.LittleEndian.Uint64(text[at+8:])
				stop, n = zeroBytes(hi^bars), 8
			}
			if stop == 0 {
				at = r.scanAny(b, start)
				continue
			}
			n += bits.TrailingZeros64(stop) / 8
			lo, hi = short(lo, hi, n)
			if lo != lastLo || hi != lastHi {
				thread := threads.find(lo, hi)
				if thread == nil {
					at = r.scanAny(b, start)
					continue
				}
				lastLo, lastHi, last = lo, hi, *thread
			}
			at += n + 1

			lo, n = binary.LittleEndian.Uint64(text[at:]), 0
			stop = zeroBytes(lo^bars) | zeroBytes(lo^ends)
			if stop == 0 {
				hi = binary.LittleEndian.Uint64(text[at+8:])
				stop, n = zeroBytes(hi^bars)|zeroBytes(hi^ends), 8
			}
			if stop == 0 {
				at = r.scanAny(b, start)
				continue
			}
			n += bits.TrailingZeros64(stop) / 8
			l.op[0], l.op[1] = short(lo, hi, n)
			l.site = [2]uint64{}
			at += n + 1

			if text[at-1] == '|' {
				lo, n = binary.LittleEndian.Uint64(text[at:]), 0
				if stop = zeroBytes(lo ^ ends); stop == 0 {
					hi = binary.LittleEndian.Uint64(text[at+8:])
					stop, n = zeroBytes(hi^ends), 8
				}
				if stop == 0 {
					at = r.scanAny(b, start)
					continue
				}
				if n += bits.TrailingZeros64(stop) / 8; n > 0 {
					l.site[0], l.site[1] = short(lo, hi, n)
				}
				at += n + 1
			}
			l.at, l.record = uint32(start), uint32(len(b.records))
			b.records = append(b.records, heisen.Record{Thread: last})
			count++
		}
		r.scanKnown(b, lines[:count])
	}
}

// scanKnown makes the records of lines of which the threads are known. It looks up all of them step by step, so that the places in memory
// that a step needs are fetched together.
func (r *STDReader) scanKnown(b *textBlock, lines []scannedLine) {
	ops, sites := r.ops.table.Load(), r.sites.table.Load()
	var opHash, opPlace, siteHash, sitePlace [scanAtOnce]uint64
	for i := range lines {
		l := &lines[i]
		h := ops.hash(l.op[0], l.op[1])
		opHash[i], opPlace[i] = h, atomic.LoadUint64(&ops.places[h&uint64(len(ops.places)-1)])
		h = sites.hash(l.site[0], l.site[1])
		siteHash[i], sitePlace[i] = h, atomic.LoadUint64(&sites.places[h&uint64(len(sites.places)-1)])
	}
	for i := range lines {
		l := &lines[i]
		var op *stdOp
		if e := ops.at(opPlace[i], opHash[i]); e != nil && e.lo == l.op[0] && e.hi == l.op[1] {
			op = &e.value
		} else {
			op = ops.find(l.op[0], l.op[1])
		}
		site := &noSite
		if l.site[1] == 0 {
		} else if e := sites.at(sitePlace[i], siteHash[i]); e != nil && e.lo == l.site[0] && e.hi == l.site[1] {
			site = &e.value
		} else {
			site = sites.find(l.site[0], l.site[1])
		}
		rec := &b.records[l.record]
		switch {
		case op == nil || site == nil:
			r.lookUp(b, int(l.at), rec)
		case op.code == heisen.Invalid:
			*rec = heisen.Record{Thread: noEvent}
		default:
			rec.Object, rec.Value, rec.Site, rec.Len, rec.Op = op.obj, op.val, *site, op.len, op.code
		}
	}
}

var noSite heisen.Site

// scanAny makes the record of the line that starts at a place. It returns where the next line starts.
func (r *STDReader) scanAny(b *textBlock, start int) (next int) {
	b.records = append(b.records, heisen.Record{})
	return r.lookUp(b, start, &b.records[len(b.records)-1])
}

// lookUp makes the record of any line whose fields are known, and otherwise leaves it to parse. It returns where the next line starts.
func (r *STDReader) lookUp(b *textBlock, start int, rec *heisen.Record) (next int) {
	n := bytes.IndexByte(b.text[start:], '\n')
	if !r.known(b.text[start:start+n], rec) {
		*rec = heisen.Record{Thread: unparsed, Value: uint64(start) | uint64(n)<<textLength}
	}
	return start + n + 1
}

// known makes the record of a line if its fields are known. It reports whether they are.
func (r *STDReader) known(line []byte, rec *heisen.Record) bool {
	line = bytes.TrimRight(line, "\r")
	name, text, ok := bytes.Cut(line, []byte("|"))
	if !ok {
		return false
	}
	text, site, _ := bytes.Cut(text, []byte("|"))
	text, value, flags, reason := cutValue(text)
	thread, op := r.threadNames.find(name), r.ops.find(text)
	if thread == nil || op == nil || reason != "" || flags != 0 && !hasLength(op.code) {
		return false
	}
	if op.code == heisen.Invalid {
		*rec = heisen.Record{Thread: noEvent}
		return true
	}
	*rec = heisen.Record{Object: op.obj, Value: op.val | value, Thread: *thread, Len: op.len, Op: op.code, Flags: flags}
	if len(site) > 0 {
		known := r.sites.find(site)
		if known == nil {
			return false
		}
		rec.Site = *known
	}
	return true
}

// start lets another goroutine scan the block, unless somebody else does it before.
func (r *STDReader) start(b *textBlock) {
	b.claimed.Store(false)
	go r.help(b)
}

// help scans the block, unless somebody does or has done so. It reports whether it has.
func (r *STDReader) help(b *textBlock) bool {
	if !b.claimed.CompareAndSwap(false, true) {
		return false
	}
	r.scan(b)
	b.scanned <- struct{}{}
	return true
}
